use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Where versioned installations keep their programs; `*` stands for anything.
const FOLDERS: [(&str, &str); 4] = [
    ("/usr/lib/postgresql", "*"),
    ("/usr", "pgsql-*"),
    ("/opt/homebrew/opt", "postgresql*"),
    ("/usr/local/opt", "postgresql*"),
];

/// The server programs of one installation.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
    major: u32,
}

impl Programs {
    /// From `PATH`, else as `pg_config` says, else the newest in the folders where Debian, Red Hat
    /// and Homebrew put them.
    pub(crate) fn find() -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        let Some(folder) = on_path.chain(configured()).chain(installed()).find(|f| complete(f))
        else {
            bail!(
                "PostgreSQL's server programs (initdb, pg_ctl, postgres) were not found.\n\
                 Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql.\n\
                 Or start a server yourself and name it in DATABASE_URL."
            );
        };
        let major = major(&folder.join("postgres"))?;
        Ok(Self { folder, major })
    }

    /// Where a program is: in the folder, else where the programs in there are links to.
    pub(crate) fn path(&self, program: &str) -> PathBuf {
        let path = self.folder.join(program);
        let real = self.folder.join("postgres").canonicalize().unwrap_or_default();
        let beside = real.with_file_name(program);
        if !path.is_file() && beside.is_file() { beside } else { path }
    }

    /// Whether a library is installed that a server may load when it starts.
    pub(crate) fn has_library(&self, name: &str) -> bool {
        // The programs may be links to those of the installation.
        let Ok(postgres) = self.path("postgres").canonicalize() else { return false };
        let library = |ending| postgres.with_file_name("../lib").join([name, ending].concat());
        [".so", ".dylib"].into_iter().any(|ending| library(ending).is_file())
    }

    /// The major version; each has a data format of its own.
    pub(crate) fn major(&self) -> u32 {
        self.major
    }
}

fn complete(folder: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres"].iter().all(|program| folder.join(program).is_file())
}

fn configured() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    folder.is_absolute().then_some(folder)
}

/// The versioned folders that exist, newest first.
fn installed() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (parent, pattern) in FOLDERS {
        let prefix = pattern.trim_end_matches('*');
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(version) = name.strip_prefix(prefix) {
                found.push((leading_number(version), entry.path().join("bin")));
            }
        }
    }
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn major(postgres: &Path) -> Result<u32> {
    let output = Command::new(postgres).arg("--version").output();
    let output = output.with_context(|| format!("run {}", postgres.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // "postgres (PostgreSQL) 17.5 (Debian 17.5-1)"
    let version = text.split(") ").nth(1).and_then(leading_number);
    version.with_context(|| format!("`{text}` names no version of PostgreSQL"))
}

/// The digits at the start of "17.5", "18beta1" or, after a sign, "@17".
fn leading_number(text: &str) -> Option<u32> {
    let text = text.trim_start_matches('@');
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::leading_number;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(leading_number("17.5 (Debian)"), Some(17));
        assert_eq!(leading_number("9"), Some(9));
        assert_eq!(leading_number("18beta1"), Some(18));
        assert_eq!(leading_number("@17"), Some(17));
        assert_eq!(leading_number(""), None);
    }
}
