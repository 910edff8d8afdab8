use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The account that servers run as: our own, or an unprivileged one when we are root.
///
/// `initdb` and `postgres` refuse to run as root.
#[derive(Debug)]
pub(crate) struct Account {
    uid: u32,
    /// User and group to change to; `None` when we are not root.
    switch: Option<(u32, u32)>,
}

impl Account {
    pub(crate) fn find() -> Result<Self> {
        let uid = id(&["-u"])?;
        if uid != 0 {
            return Ok(Self { uid, switch: None });
        }
        for name in ["postgres", "nobody"] {
            if let (Ok(uid), Ok(gid)) = (id(&["-u", name]), id(&["-g", name])) {
                return Ok(Self { uid, switch: Some((uid, gid)) });
            }
        }
        bail!("PostgreSQL does not run as root, and there is no account `postgres` or `nobody`");
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// A command run as this account, with an environment that says nothing of ours: `PG…`
    /// variables would redirect the server programs.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        // The caller's folder may be out of the account's reach; `/` never is.
        command.env_clear().env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        if let Some((uid, gid)) = self.switch {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Makes a folder that only this account can enter, unless it is there already.
    ///
    /// A folder that someone else made is refused: in a temporary directory anybody can take a
    /// name in advance.
    pub(crate) fn make_folder(&self, folder: &Path) -> Result<()> {
        let parent = folder.parent().context("a folder has a parent")?;
        ensure!(self.may("-x", parent), "{} is out of reach", parent.display());
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Ok(()) => {
                if let Some((uid, gid)) = self.switch {
                    chown(folder, Some(uid), Some(gid))?;
                }
                // The creation mode is subject to the umask.
                fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("make {}", folder.display())),
        }
        let found = fs::symlink_metadata(folder)?;
        let ours = found.is_dir() && found.uid() == self.uid && found.mode() & 0o077 == 0;
        ensure!(ours && self.may("-w", folder), "{} belongs to another user", folder.display());
        Ok(())
    }

    /// Whether the account passes `test -x` and the like on a path.
    fn may(&self, test: &str, path: &Path) -> bool {
        let status = self.command("test").arg(test).arg(path).status();
        status.is_ok_and(|status| status.success())
    }
}

fn id(arguments: &[&str]) -> Result<u32> {
    let output = Command::new("id").args(arguments).output().context("run `id`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("`id {}` gave no number", arguments.join(" ")))
}
