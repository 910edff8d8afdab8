use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::account::Account;
use crate::programs::Programs;

/// What this machine offers: the server programs, and the account to run them as.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) programs: Programs,
    pub(crate) account: Account,
}

impl Host {
    pub(crate) fn find() -> Result<Self> {
        Ok(Self { programs: Programs::find()?, account: Account::find()? })
    }

    /// A server program, run as the account.
    pub(crate) fn command(&self, program: &str) -> Command {
        self.account.command(self.programs.path(program))
    }

    /// Makes a folder of this name for temporary things, where the account can reach it.
    pub(crate) fn temporary_folder(&self, name: &str) -> Result<PathBuf> {
        let mut refused = Vec::new();
        // Root's own TMPDIR may be closed to the account.
        for parent in [std::env::temp_dir(), PathBuf::from("/tmp")] {
            let folder = parent.join(name);
            match self.account.make_folder(&folder) {
                Ok(()) => return Ok(folder),
                Err(error) => refused.push(format!("{error:#}")),
            }
        }
        bail!("no folder for a private PostgreSQL: {}", refused.join("; "));
    }

    /// Makes a data folder in one step: whoever finds it under its name finds it complete.
    pub(crate) fn initdb(&self, data: &Path) -> Result<()> {
        let unfinished = data.with_extension(format!("new-{}", std::process::id()));
        remove_folder(&unfinished)?;
        let mut command = self.command("initdb");
        command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]);
        run(command.arg("-D").arg(&unfinished))?;
        remove_folder(data)?;
        std::fs::rename(&unfinished, data).with_context(|| format!("make {}", data.display()))
    }
}

/// Runs a command to its end; what it printed is the error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("run {program}"))?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    ensure!(output.status.success(), "{program}: {}\n{}", output.status, printed.trim());
    Ok(())
}

/// Removes a folder with all it holds; one that is not there is fine.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
