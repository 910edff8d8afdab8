//! The examples: short enough to be read, and true.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use jobkit_tests::{Lab, built, ended, wait};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::OnceCell;

/// The examples that are run here.
const RUN: [&str; 17] = [
    "chunk",
    "checkpoint",
    "coalesce",
    "complete_in",
    "concurrency",
    "dead_letters",
    "demo",
    "document",
    "encryption",
    "layers",
    "limiter",
    "limits",
    "order",
    "quickstart",
    "results",
    "topics",
    "traces",
];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn examples_are_short() {
    let read = |name| fs::read_to_string(repository().join("examples").join(name)).unwrap();
    let quickstart = read("quickstart.rs");
    assert!(quickstart.lines().count() <= 80, "quickstart.rs may have 80 lines");
    let concurrency = read("concurrency.rs");
    assert!(concurrency.lines().count() <= 110, "concurrency.rs may have 110 lines");
    let dead_letters = read("dead_letters.rs");
    assert!(dead_letters.lines().count() <= 110, "dead_letters.rs may have 110 lines");
    for example in ["limits.rs", "document.rs", "order.rs"] {
        assert!(read(example).lines().count() <= 80, "{example} may have 80 lines");
    }
    let minimal = read("minimal.rs");
    let lines = minimal.lines().filter(|line| !line.trim().is_empty());
    assert!(lines.count() <= 45, "minimal.rs may have 45 lines that are not blank");
}

/// The command that runs an example on a folder, built first.
async fn example(name: &'static str, lab: &Lab, folder: &Path) -> Command {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    assert!(RUN.contains(&name), "{name} is in the list");
    let examples = BUILT.get_or_init(|| built(&RUN, &[])).await;
    let mut command = Command::new(examples.join(name));
    command.current_dir(repository()).stdin(Stdio::null());
    command.arg(folder).env("DATABASE_URL", lab.url());
    command
}

/// What an example that needs no folder says, with the database it has used.
async fn said_by(name: &'static str) -> (Lab, String) {
    let lab = Lab::empty().await;
    let output = ended(&mut example(name, &lab, Path::new("")).await).await;
    (lab, said(&output))
}

async fn quickstart(lab: &Lab, folder: &Path) -> Command {
    example("quickstart", lab, folder).await
}

fn said(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{error}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A folder of its own, gone when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("jobkit-example-{:016x}", fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, path: &[u8], content: &str) -> PathBuf {
        let path = self.0.join(OsStr::from_bytes(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quickstart_hashes_files_whatever_their_names() {
    let (lab, folder) = (Lab::empty().await, Folder::new());
    let said_of = async || {
        let output = ended(&mut quickstart(&lab, &folder.0).await).await;
        said(&output)
    };
    assert_eq!(said_of().await, "hashed 0 files (0 B), 0 failed\n");
    folder.write(b"abc", "abc");
    folder.write(b"with space\nand line", "12345");
    folder.write(b"not \xff\xfe unicode", "");
    folder.write("tiefer/noch tiefer/größe".as_bytes(), "1234");
    folder.write(b"target/skipped", "x");
    folder.write(b"deeper/.git/skipped", "x");
    std::os::unix::fs::symlink("nowhere", folder.0.join("dangling")).unwrap();
    for _again in 0..2 {
        assert_eq!(said_of().await, "hashed 4 files (12 B), 0 failed\n");
    }
    let abc = "quickstart where bytes = 3 and encode(sha256, 'hex') =
        'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'";
    assert_eq!(lab.count(abc).await, 2);
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quickstart_names_the_file_that_failed() {
    let (lab, folder) = (Lab::new().await, Folder::new());
    folder.write(b"there", "1");
    let vanishing = folder.write(b"vanishing", "2");
    let mut command = quickstart(&lab, &folder.0).await;
    // No worker registers while this is held: the file vanishes before its job runs.
    let mut holder = lab.session("holder").await;
    holder.run("begin; lock table jobkit.workers in share mode").await.unwrap();
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    lab.until("count(*) = 2 from jobkit.jobs").await;
    fs::remove_file(&vanishing).unwrap();
    holder.run("commit").await.unwrap();
    let said = said(&running.wait_with_output().await.unwrap());
    let failure = format!("  {vanishing:?}: No such file or directory (os error 2)\n");
    assert_eq!(said, format!("hashed 1 files (1 B), 1 failed\n{failure}"));
    assert_eq!(lab.count("jobkit.dead_letters where reason = 'dead'").await, 1);
}

/// As much of a file as the example hashes: it looks at who waits ten times a second.
const LARGEST: usize = 4 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn the_concurrency_example_keeps_to_the_limit_and_says_who_waits() {
    let (lab, folder) = (Lab::empty().await, Folder::new());
    for file in 0..12 {
        for account in ["acme", "größe & co"] {
            let path = format!("{account}/deeper/{file}");
            folder.write(path.as_bytes(), &file.to_string().repeat(LARGEST));
        }
    }
    folder.write(b"of nobody", "1");
    let said = said(&ended(&mut example("concurrency", &lab, &folder.0).await).await);
    assert!(said.contains("acme: 2 of 2 run, "), "{said}");
    assert!(said.contains(" for fingerprint/acme (limit 2, both permits held by jobs "), "{said}");
    let accounts = "  acme: at most 2 at a time\n  größe & co: at most 2 at a time\n";
    let end = format!("hashed 24 files\n{accounts}");
    assert!(said.ends_with(&end), "{said}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_coalesce_example_runs_once_for_each_product() {
    let (lab, said) = said_by("coalesce").await;
    assert!(said.ends_with("3 runs for 100 changes\n"), "{said}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chunk_example_counts_every_visit_in_a_few_statements() {
    let (lab, said) = said_by("chunk").await;
    assert!(said.ends_with("all visits are counted\n"), "{said}");
    assert_eq!(lab.value::<i64>("select count(*) from visits where number = 100").await, 10);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limiter_example_calls_at_the_rate_of_its_limiter() {
    let (lab, said) = said_by("limiter").await;
    let took = said.trim().strip_prefix("45 calls in ").and_then(|said| said.split(' ').next());
    // 40 by the rate, after a burst of 5, in two seconds; the first may say so late.
    let took: f64 = took.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    assert!(took >= 1.5, "{said}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_example_keeps_to_rates_rests_and_expiry() {
    let (lab, said) = said_by("limits").await;
    let seconds = |before: &str| -> f64 {
        let found = said.lines().find_map(|line| line.strip_prefix(before)?.strip_suffix(" s"));
        found.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
    };
    assert!(seconds("globex was called 11 times in ") >= 0.9, "{said}");
    assert!(seconds("acme was called again after ") >= 4.0, "{said}");
    assert!(said.contains("the code was discarded: expired"), "{said}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_results_example_waits_for_its_answers() {
    let (lab, said) = said_by("results").await;
    assert!(said.starts_with("420 cents\njob ") && said.ends_with(" has finished\n"), "{said}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_example_merges_all_pages_once() {
    let (lab, said) = said_by("document").await;
    assert_eq!(said, "200 of 200 pages, the last: Some(\"text of page 200\")\n");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_example_goes_on_after_its_last_step() {
    let (lab, said) = said_by("order").await;
    let steps = "charged\nreserved\nnot shipped\nnot shipped\nshipped reservation 1\n";
    assert_eq!(said, format!("{steps}the order has finished\n"));
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_checkpoint_example_imports_each_row_once() {
    let (lab, said) = said_by("checkpoint").await;
    assert!(said.contains("\nstopped\n"), "{said}");
    assert!(said.ends_with("\n3000 rows, state finished\n"), "{said}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_complete_in_example_books_once() {
    let (lab, said) = said_by("complete_in").await;
    assert_eq!(said, "booked 420 cents\n");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_layers_example_prints_for_each_tenant() {
    let (lab, said) = said_by("layers").await;
    let lines = |end: &str| said.lines().filter(|line| line.ends_with(end)).count();
    for tenant in ["ada", "bob"] {
        for number in [1, 2] {
            assert_eq!(lines(&format!("invoice {number} of {tenant} is printed")), 1, "{said}");
        }
    }
    assert_eq!((lines(": finish"), lines(": retry")), (4, 2), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("attempt ")).count(), 6, "{said}");
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_traces_example_prints_a_request_and_its_jobs() {
    let (lab, said) = said_by("traces").await;
    let charged = "charge_card, attempt 1, failed\n  charge_card, attempt 2\n";
    let rest = "    ship_order, attempt 1\n  send_receipt, attempt 1\n";
    assert_eq!(said, format!("request\n  {charged}{rest}"));
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_topics_example_replays_the_one_that_failed() {
    let (lab, said) = said_by("topics").await;
    let receipt = "order 7: the receipt is sent\n";
    let failed = "reserve_stock failed: the warehouse is closed\n";
    assert_eq!(said, format!("{receipt}{failed}order 7: the stock is reserved\n"));
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_encryption_example_runs_its_job_with_another_key() {
    let (lab, said) = said_by("encryption").await;
    let shown = r#"shown as {"token": {"jobkit:sealed": "•••"}, "account": "•••"}"#;
    let rest = "1 jobs resealed with 2026b\naccount 7 with 6 letters of token\n";
    assert_eq!(said, format!("{shown}\n{rest}"));
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dead_letters_example_merges_groups_replays_and_resolves() {
    let (lab, folder) = (Lab::empty().await, Folder::new());
    for _again in 0..2 {
        let command = &mut example("dead_letters", &lab, &folder.0).await;
        let said = said(&ended(command).await);
        assert!(
            said.starts_with("2 dead letters of one cause, such as: the bank answered 503 to ")
        );
        for open in ["acme: open, 3 jobs, 6 attempts\n", "globex: open, 1 jobs, 2 attempts\n"] {
            assert!(said.contains(open), "{said}");
            assert!(said.contains(&open.replace("open", "resolved")), "{said}");
        }
        assert_eq!(said.matches("the bank was told").count(), 2, "one of each account: {said}");
        assert!(said.contains("globex has 4 cents, "), "{said}");
        assert!(said.ends_with("purged 2\n"), "{said}");
    }
    lab.check_invariants().await;
}

/// What a server answers.
async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// How many of something the dashboard counts.
async fn counted(address: &str, what: &str) -> u64 {
    let answer = get(address, "/jobs/api/v1/overview").await;
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    body[what]["number"].as_u64().unwrap_or_else(|| panic!("no number of {what}: {body}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_has_a_dashboard_with_something_of_everything_and_ends_when_told() {
    let (lab, folder) = (Lab::empty().await, Folder::new());
    let mut command = example("demo", &lab, &folder.0).await;
    command.env("PORT", "0").stdout(Stdio::piped()).kill_on_drop(true);
    let mut demo = command.spawn().unwrap();
    let mut said = BufReader::new(demo.stdout.take().unwrap()).lines();
    let line = said.next_line().await.unwrap().unwrap();
    let address =
        line.strip_prefix("The dashboard is at http://").unwrap_or_else(|| panic!("{line}"));
    let address = address.strip_suffix("/jobs").unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address} is reached from elsewhere");
    assert!(get(address, "/").await.contains("location: /jobs\r\n"));
    let minute = Duration::from_secs(60);
    for what in ["ready", "blocked", "scheduled", "dead"] {
        wait(minute, what, || async { counted(address, what).await > 0 }).await;
    }
    let shows_the_paused_queue = || async {
        let page = get(address, "/jobs").await;
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        page.contains("warehouse")
    };
    wait(minute, "the paused queue has jobs", shows_the_paused_queue).await;
    // A page that somebody looks at does not hold up the end.
    let mut watcher = TcpStream::connect(address).await.unwrap();
    watcher.write_all(b"GET /jobs/events HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    watcher.read_exact(&mut [0; 15]).await.unwrap();
    let pid = demo.id().unwrap().to_string();
    let told = Command::new("kill").args(["-INT", &pid]).status().await.unwrap();
    assert!(told.success());
    let ended = tokio::time::timeout(Duration::from_secs(20), demo.wait()).await;
    assert!(ended.expect("it ends soon").unwrap().success());
    assert_eq!(said.next_line().await.unwrap().as_deref(), Some("stopped"));
    lab.check_invariants().await;
}
