use strict;
use warnings;
use DBI;
use JSON::PP;

binmode STDERR, ":encoding(UTF-8)";

my ($user, $host, $port, $name) = $ENV{DATABASE_URL} =~ m{//(\w+)@([^:/]+):(\d+)/(\w+)};
my $order = $ARGV[0] + 0;
my $dsn = "dbi:Pg:host=$host;port=$port;dbname=$name;sslmode=disable";
my $db = DBI->connect($dsn, $user, "", { RaiseError => 1, PrintError => 0, AutoCommit => 0 });
my $job = eval {
    my $enqueue = "select jobkit.enqueue('send_receipt', ?, p_tags => ?)";
    my ($id) = $db->selectrow_array($enqueue, undef, encode_json({ order_id => $order }), ["shop"]);
    $db->do("insert into orders (id) values (?)", undef, $order);
    $db->commit;
    $id;
};
if (!defined $job) {
    my ($code, $text) = ($db->state, $db->errstr);
    $db->rollback;
    die(($code =~ /^JK/ ? "refused" : "not placed") . ": $code $text\n");
}
print "$job\n";
$db->disconnect;
