<?php
$address = parse_url(getenv("DATABASE_URL"));
$name = substr($address["path"], 1);
$order = (int) $argv[1];
$dsn = "pgsql:host={$address['host']};port={$address['port']};dbname=$name;sslmode=disable";
$pdo = new PDO($dsn, $address["user"], "", [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
try {
    $pdo->beginTransaction(); // what is not committed at the end is rolled back
    $enqueue = $pdo->prepare("select jobkit.enqueue('send_receipt', ?, p_tags => ?)");
    $enqueue->execute([json_encode(["order_id" => $order]), "{shop}"]);
    $job = $enqueue->fetchColumn();
    $pdo->prepare("insert into orders (id) values (?)")->execute([$order]);
    $pdo->commit();
    echo "$job\n";
} catch (PDOException $error) {
    $code = (string) $error->getCode();
    $what = str_starts_with($code, "JK") ? "refused" : "not placed";
    fwrite(STDERR, "$what: $code {$error->getMessage()}\n");
    exit(1);
}
