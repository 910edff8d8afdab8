use std::path::Path;
use std::process::Stdio;

use jobkit_tests::{Lab, built};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// Runs an example until it has mailed a receipt, and ends it.
async fn mails_a_receipt(name: &str) {
    let lab = Lab::empty().await;
    let libpq = ["--features", "jobkit-driver-tests/libpq"];
    let options: &[_] = if cfg!(feature = "libpq") { &libpq } else { &[] };
    let mut command = Command::new(built(&[name], options).await.join(name));
    command.env("DATABASE_URL", crate::plain(lab.url()));
    let mut program =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    let line = said.next_line().await.unwrap();
    assert_eq!(line.as_deref(), Some("the receipt of order 1 is on its way"));
    assert_eq!(lab.count("orders").await, 1);
    lab.until("not exists (select from jobkit.jobs)").await;
    program.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_with_sea_orm_mails_a_receipt() {
    mails_a_receipt("sea_orm").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_with_tokio_postgres_mails_a_receipt() {
    mails_a_receipt("tokio_postgres").await;
}

#[test]
fn the_examples_are_short() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/drivers");
    for (name, most) in [("sea_orm.rs", 60), ("tokio_postgres.rs", 45)] {
        let lines = std::fs::read_to_string(folder.join(name)).unwrap().lines().count();
        assert!(lines <= most, "{name} may have {most} lines, and has {lines}");
    }
}
