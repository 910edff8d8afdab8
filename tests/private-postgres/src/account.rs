use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

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
        if !self.owns(folder) {
            self.create(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        let ours = self.owns(folder) && self.may("-w", folder);
        ensure!(ours, "{} belongs to another user", folder.display());
        Ok(())
    }

    /// Makes a folder in one step, unless it has been made: whoever finds it under its name finds
    /// that it belongs to this account.
    fn create(&self, folder: &Path) -> Result<()> {
        let unfinished = folder.with_extension(format!("new-{}", unique_name()?));
        fs::DirBuilder::new().mode(0o700).create(&unfinished)?;
        // The creation mode is subject to the umask.
        fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o700))?;
        // An empty folder could be replaced by another process that makes it as well.
        fs::write(unfinished.join(".gitignore"), "*\n")?;
        if let Some((uid, gid)) = self.switch {
            chown(&unfinished, Some(uid), Some(gid))?;
        }
        fs::rename(&unfinished, folder).or_else(|_| fs::remove_dir_all(&unfinished))?;
        Ok(())
    }

    fn owns(&self, folder: &Path) -> bool {
        let found = fs::symlink_metadata(folder);
        found.is_ok_and(|found| {
            found.is_dir() && found.uid() == self.uid && found.mode() & 0o077 == 0
        })
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

/// A name that nobody else uses. The time is in it because process ids come again, in containers
/// with each start.
pub(crate) fn unique_name() -> Result<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
    Ok(format!("{}-{number}-{time:x}", std::process::id()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Barrier;
    use std::thread::scope;

    use super::*;
    use crate::host::Host;

    /// Those that come second may not find it half made, and think that it is somebody else's.
    #[test]
    fn many_can_make_the_same_folder_at_once() {
        let host = Host::find().unwrap();
        let parent = host.temporary_folder(&format!("made-{}", unique_name().unwrap())).unwrap();
        for round in 0..100 {
            let folder = parent.join(format!("folder-{round}"));
            let together = Barrier::new(4);
            let make = || {
                together.wait();
                host.account.make_folder(&folder).unwrap();
            };
            scope(|threads| (0..4).for_each(|_| drop(threads.spawn(make))));
            fs::remove_dir_all(&folder).unwrap();
        }
        // Nothing but what says that it is to be ignored.
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 1);
        fs::remove_dir_all(&parent).unwrap();
    }
}
