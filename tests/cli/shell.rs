//! Runs the binary.

use jobkit_tests::Lab;
use serde_json::Value;
use tokio::process::Command;

use crate::world;

/// What a run has left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// What it says, when it went well.
    pub(crate) fn good(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// What it says on stderr, when it ended with this status and said nothing else.
    pub(crate) fn bad(self, code: i32) -> String {
        assert_eq!((self.code, &*self.out), (code, ""), "{self:?}");
        self.err
    }
}

/// The binary, used by `ada`, with nothing from this process's environment that it looks at.
pub(crate) fn command(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobkit-cli"));
    for name in ["JOBKIT_PASSWORD", "LOGNAME", "RUST_LOG"] {
        command.env_remove(name);
    }
    command.env("USER", "ada").env("DATABASE_URL", url).args(args).kill_on_drop(true);
    command
}

pub(crate) async fn at(url: &str, args: &[&str]) -> Run {
    let output = command(url, args).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).expect("it writes texts");
    Run {
        code: output.status.code().expect("nobody killed it"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

pub(crate) async fn run(lab: &Lab, args: &[&str]) -> Run {
    at(lab.url(), args).await
}

/// The document that a command answers with, when it went well.
pub(crate) async fn json(lab: &Lab, args: &[&str]) -> Value {
    let out = run(lab, &[args, &["--json"]].concat()).await.good();
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
}

/// A lab with something of everything, for these names.
pub(crate) async fn filled(names: &[&str]) -> Lab {
    let lab = Lab::new().await;
    world::fill(&lab, names).await;
    lab
}

pub(crate) const NAMES: [&str; 4] = ["mail", "charge", "report", "sync"];

/// The only text of a query.
pub(crate) async fn text(lab: &Lab, sql: &str) -> String {
    lab.value(&format!("select ({sql})::text")).await
}
