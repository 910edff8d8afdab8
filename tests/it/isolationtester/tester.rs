//! The program: where it is, and a run of it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jobkit_tests::Lab;
use tokio::io::AsyncWriteExt as _;

use super::report::{Report, Spec};

/// Where `pgxs` has it.
const PROGRAM: &str = "src/test/isolation/isolationtester";

/// What is said where it is missing.
const SKIPPED: &[u8] = b"SKIPPED: isolationtester is not installed (Debian: postgresql-client)\n";

/// How many seconds a step may wait before it is cancelled.
const PATIENCE: &str = "10";

/// PostgreSQL's isolationtester.
pub(super) struct Tester {
    program: PathBuf,
}

impl Tester {
    /// `None` where it is not installed; in CI it has to be.
    pub(super) fn find() -> Option<Self> {
        let Some(program) = candidates().into_iter().find(|path| path.is_file()) else {
            assert!(std::env::var_os("CI").is_none(), "isolationtester is not installed");
            // Not `eprintln!`, which is kept back when a test passes.
            std::io::stderr().write_all(SKIPPED).unwrap();
            return None;
        };
        Some(Self { program })
    }

    /// Runs a spec in a lab.
    pub(super) async fn run(&self, lab: &Lab, spec: &Spec) -> Report {
        // The parameters of the address are sqlx's own.
        let address = lab.url().split('?').next().unwrap();
        let mut child = tokio::process::Command::new(&self.program)
            .arg(address)
            .env("PGISOLATIONTIMEOUT", PATIENCE)
            .env_remove("PGOPTIONS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // The whole spec is read before anything is written.
        input.write_all(spec.text().as_bytes()).await.unwrap();
        drop(input);
        Report::new(&child.wait_with_output().await.unwrap())
    }
}

fn candidates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut configs = vec![PathBuf::from("pg_config")];
    if let Ok(programs) = private_postgres::programs() {
        found.push(programs.join("../lib/pgxs").join(PROGRAM));
        configs.insert(0, programs.join("pg_config"));
    }
    for config in configs {
        let Ok(output) = Command::new(config).arg("--pgxs").output() else { continue };
        let makefile = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        // …/pgxs/src/makefiles/pgxs.mk
        found.extend(makefile.ancestors().nth(3).map(|pgxs| pgxs.join(PROGRAM)));
    }
    found
}
