use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::Mode;
use crate::account::unique_name;
use crate::host::{Host, run};
use crate::project::Project;
use crate::server::{Server, url};

/// Ends the cluster when its standard input closes: on drop, and also when the process that made
/// the cluster is killed. A server that a test has frozen is woken up first.
const GUARD: &str = r#"
    trap '' HUP INT TERM
    read -r _
    kill -CONT "$(head -n 1 "$2/data/postmaster.pid")"
    "$1" stop -D "$2/data" -m immediate -t 30
    rm -rf "$2"
"#;

/// A cluster of its own for one test, stopped and removed on drop.
///
/// It is durable like any PostgreSQL (`fsync` is on), so that tests can crash it. The URL stays
/// the same however often it is stopped and started.
#[derive(Debug)]
pub struct Cluster {
    server: Server,
    port: u16,
    guard: Child,
}

impl Cluster {
    /// Makes a cluster in a temporary folder and starts it, with these settings on top of the
    /// server's defaults.
    ///
    /// # Errors
    ///
    /// When the server programs are not installed, or when the server does not start.
    pub fn throwaway(settings: &[(&str, &str)]) -> Result<Self> {
        let project = Project::find()?;
        let template = project.template()?;
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Self::make(project.host(), settings, |host, data| {
            run(host.account.command("cp").arg("-Rp").arg(template).arg(data))
        })
    }

    /// Makes a standby of this cluster, which runs, and starts it: it receives what is committed
    /// here, as `walreceiver` in `synchronous_standby_names`, and answers questions.
    ///
    /// # Errors
    ///
    /// When the programs are not installed (`pg_basebackup` may be in a package of its own), or
    /// when the standby does not start.
    pub fn standby(&self) -> Result<Self> {
        Self::make(&self.server.host, self.server.settings.clone(), |host, data| {
            let mut command = host.command("pg_basebackup");
            command.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-d"]);
            run(command.arg(self.url()).arg("-D").arg(data))
        })
    }

    /// Makes a standby a server of its own, which takes writes.
    ///
    /// # Errors
    ///
    /// When it is none, or does not run.
    pub fn promote(&self) -> Result<()> {
        self.server.promote()
    }

    fn make(
        host: &Arc<Host>,
        settings: Vec<(String, String)>,
        fill: impl FnOnce(&Host, &Path) -> Result<()>,
    ) -> Result<Self> {
        let folder = host.temporary_folder(&format!("private-postgres-{}", unique_name()?))?;
        let guard = guard(host, &folder)?;
        let server = Server { host: Arc::clone(host), data: folder.join("data"), settings };
        let mut cluster = Self { server, port: 0, guard };
        fill(host, &cluster.server.data)?;
        cluster.port = cluster.server.start(None)?;
        Ok(cluster)
    }

    /// The URL of the maintenance database.
    #[must_use]
    pub fn url(&self) -> String {
        url(self.port)
    }

    /// Stops the server; does nothing when it is not running.
    ///
    /// # Errors
    ///
    /// When it does not stop within a minute.
    pub fn stop(&self, mode: Mode) -> Result<()> {
        self.server.stop(mode)
    }

    /// Starts the server on the same port as before; does nothing when it is running.
    ///
    /// # Errors
    ///
    /// When it does not start; the message ends with the last lines of its log.
    pub fn start(&self) -> Result<()> {
        if self.server.running()?.is_none() {
            self.server.start(Some(self.port))?;
        }
        Ok(())
    }

    /// [`stop`](Self::stop), then [`start`](Self::start).
    ///
    /// # Errors
    ///
    /// As these.
    pub fn restart(&self, mode: Mode) -> Result<()> {
        self.stop(mode)?;
        self.start()
    }

    /// The process id of the server, for tests that kill or freeze it.
    ///
    /// # Errors
    ///
    /// When it is not running.
    pub fn postmaster_pid(&self) -> Result<u32> {
        let running = self.server.running()?;
        Ok(running.context("the server is not running")?.pid)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _status = self.guard.wait();
    }
}

fn guard(host: &Host, folder: &Path) -> Result<Child> {
    let mut command = host.account.command("sh");
    command.args(["-c", GUARD, "guard"]).arg(host.programs.path("pg_ctl")).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // In a group of its own, so that whoever kills ours does not kill it as well.
    command.process_group(0).spawn().context("start the guard of a cluster")
}
