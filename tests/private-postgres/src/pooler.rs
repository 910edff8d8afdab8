use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::account::unique_name;
use crate::host::Host;
use crate::port;

/// How long a pooler may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends the pooler when its standard input closes: on drop, and also when the process that started
/// it is killed.
const GUARD: &str = r#"
    trap '' HUP INT TERM
    pgbouncer -q "$1/pgbouncer.ini" 2>"$1/log" &
    read -r _
    kill -KILL $!
    rm -rf "$1"
"#;

/// A `PgBouncer` in front of a server for one test, in transaction mode, with two sessions for
/// each database; ended on drop.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    guard: Child,
}

impl Pooler {
    /// Starts one before the server on this port of 127.0.0.1, with more lines of settings. `None`
    /// where it is not installed.
    ///
    /// # Errors
    ///
    /// When it is installed and does not start.
    pub fn start(server: u16, more: &str) -> Result<Option<Self>> {
        let host = Host::find()?;
        // Debian has it where only root looks.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/local/sbin";
        if !std::env::split_paths(&path).any(|folder| folder.join("pgbouncer").is_file()) {
            return Ok(None);
        }
        let folder = host.temporary_folder(&format!("private-pooler-{}", unique_name()?))?;
        let port = port::free(&folder, 0).context("127.0.0.1 has no free port")?;
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server} user=postgres\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 2\n{more}\n"
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(&file, settings)?;
        let mut command = host.account.command("sh");
        command.env("PATH", path).args(["-c", GUARD, "guard"]).arg(&folder).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let guard = command.spawn().context("start the guard of a pooler")?;
        let pooler = Self { port, guard };
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(port::address(port)).is_err() {
            let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
            ensure!(Instant::now() < end, "the pooler does not start: {}", log());
            sleep(Duration::from_millis(10));
        }
        Ok(Some(pooler))
    }

    /// The port of 127.0.0.1 it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _status = self.guard.wait();
    }
}
