//! Who is compared, and how its programs are built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

/// One entry of the tables.
#[derive(Debug, Clone)]
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    /// What is left of a job that has finished.
    pub(crate) leaves: &'static str,
    /// Its program: a package of `bench/peers`, or a module of `bench/peers/node`.
    program: Kind,
    /// The knobs it is run with, besides those its program has by itself.
    pub(crate) knobs: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// A package, and the crate whose version counts.
    Rust(&'static str, &'static str),
    /// A module, and its package.
    Node(&'static str, &'static str),
}

pub(crate) const JOBKIT: &str = "jobkit";
pub(crate) const KEPT: &str = "jobkit (history kept)";
/// Raw SQL of the same design, claims of 100 over four connections; it does no more than `drain`
/// and `insert`.
pub(crate) const CEILING: &str = "raw SQL (ceiling)";
/// The same with claims of 500 over two connections, which is how jobkit claims.
pub(crate) const WIDE: &str = "raw SQL (claims of 500)";

const fn contestant(name: &'static str, leaves: &'static str, program: Kind) -> Contestant {
    Contestant { name, leaves, program, knobs: &[] }
}

/// Everybody, in the order of the tables.
pub(crate) const ALL: [Contestant; 11] = [
    contestant(JOBKIT, "nothing", Kind::Rust("peer-jobkit", "jobkit")),
    Contestant {
        knobs: &[("KEEP", "1")],
        ..contestant(KEPT, "history", Kind::Rust("peer-jobkit", "jobkit"))
    },
    contestant("graphile_worker", "nothing", Kind::Rust("peer-graphile", "graphile_worker")),
    contestant("awa", "history", Kind::Rust("peer-awa", "awa")),
    contestant("riverqueue", "history", Kind::Rust("peer-river", "riverqueue")),
    contestant("apalis-postgres", "history", Kind::Rust("peer-apalis", "apalis-postgres")),
    contestant("underway", "history", Kind::Rust("peer-underway", "underway")),
    contestant("graphile-worker (Node)", "nothing", Kind::Node("graphile.mjs", "graphile-worker")),
    contestant("pg-boss (Node)", "history", Kind::Node("pgboss.mjs", "pg-boss")),
    contestant(CEILING, "nothing", Kind::Rust("limit", "")),
    contestant(WIDE, "nothing", Kind::Rust("limit", "")),
];

impl Contestant {
    /// Whether it is jobkit, however it is set up.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.program, Kind::Rust("peer-jobkit", _))
    }

    /// Whether it is another job queue.
    pub(crate) fn is_peer(&self) -> bool {
        !self.is_ours() && !self.is_raw()
    }

    /// Whether it is SQL without a framework.
    pub(crate) fn is_raw(&self) -> bool {
        matches!(self.program, Kind::Rust("limit", _))
    }

    /// Builds or installs its program.
    ///
    /// # Errors
    /// When that cannot be done here; the message says why.
    pub(crate) fn prepare(&self) -> Result<()> {
        match self.program {
            // One by one only when that fails: alone they would share less.
            Kind::Rust(package, _) => match WHOLE.get_or_init(|| build(&["--workspace"]).is_ok()) {
                true => Ok(()),
                false => build(&["--package", package]),
            },
            Kind::Node(..) => {
                for program in ["node", "npm"] {
                    let mut version = Command::new(program);
                    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
                    let there = version.status().is_ok_and(|status| status.success());
                    ensure!(there, "there is no {program}");
                }
                let node = peers().join("node");
                if node.join("node_modules/.package-lock.json").exists() {
                    return Ok(());
                }
                let mut npm = Command::new("npm");
                npm.args(["ci", "--no-audit", "--no-fund", "--silent"]).current_dir(node);
                succeed(&mut npm, "npm does not install it")
            }
        }
    }

    /// Program and first arguments.
    pub(crate) fn command(&self) -> Result<tokio::process::Command> {
        let mut command = match self.program {
            Kind::Rust(package, _) => tokio::process::Command::new(programs()?.join(package)),
            Kind::Node(module, _) => {
                let mut node = tokio::process::Command::new("node");
                node.arg(peers().join("node").join(module));
                node
            }
        };
        command.envs(self.knobs.iter().copied());
        Ok(command)
    }

    /// The version of its library; empty when it has none.
    pub(crate) fn version(&self) -> String {
        let read = |path| std::fs::read_to_string(peers().join(path)).unwrap_or_default();
        let found = match self.program {
            Kind::Rust(_, library) => {
                after(&read("Cargo.lock"), &format!("name = \"{library}\"\nversion = \""))
            }
            Kind::Node(_, package) => {
                after(&read("node/package.json"), &format!("\"{package}\": \""))
            }
        };
        found.unwrap_or_default()
    }
}

/// What stands there, up to the next quotation mark.
fn after(text: &str, mark: &str) -> Option<String> {
    Some(text.split_once(mark)?.1.split_once('"')?.0.to_owned())
}

/// Whether all packages could be built.
static WHOLE: OnceLock<bool> = OnceLock::new();

/// Builds packages of `bench/peers` as this program is built, and beside it.
fn build(which: &[&str]) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--quiet", "--locked"]).args(which);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    cargo.arg("--manifest-path").arg(peers().join("Cargo.toml"));
    cargo.arg("--target-dir").arg(programs()?.join(".."));
    succeed(&mut cargo, "it does not build")
}

fn succeed(command: &mut Command, failed: &str) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().context("it cannot be built")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().find(|line| line.contains("error")).unwrap_or_default();
    ensure!(output.status.success(), "{failed}: {why}");
    Ok(())
}

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Where this program is, and the others are.
fn programs() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    own.parent().map(Path::to_owned).context("a folder with this program")
}
