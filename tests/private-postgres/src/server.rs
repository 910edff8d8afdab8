use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::Mode;
use crate::host::{Host, run};
use crate::port;

/// The file with our settings, read by the server at the end of its own.
const SETTINGS: &str = "private.conf";

/// How long a server may take to start, recover or stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// A data folder and the server that may be running on it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) host: Arc<Host>,
    pub(crate) data: PathBuf,
    pub(crate) settings: Vec<(String, String)>,
}

/// What `postmaster.pid` says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Postmaster {
    pub(crate) pid: u32,
    pub(crate) port: u16,
    ready: bool,
}

impl Server {
    /// Whether the data folder is there; it is complete then.
    pub(crate) fn exists(&self) -> bool {
        self.data.join("PG_VERSION").is_file()
    }

    /// The running server, once it takes connections. One that is stopping is waited for and then
    /// not there.
    pub(crate) fn running(&self) -> Result<Option<Postmaster>> {
        let end = Instant::now() + PATIENCE;
        while let Some(found) = self.postmaster() {
            if !self.is_ours(found.pid) {
                return Ok(None);
            }
            if found.ready && TcpStream::connect(port::address(found.port)).is_ok() {
                return Ok(Some(found));
            }
            if Instant::now() > end {
                bail!("the server with pid {} does not answer{}", found.pid, self.log_end());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(None)
    }

    /// Starts the server: on this port, or on a free one.
    pub(crate) fn start(&self, fixed: Option<u16>) -> Result<u16> {
        let mut failure = None;
        // Again, because someone else may take a free port before the server does, and because
        // after a crash the old server's processes need a moment to notice.
        for attempt in 0..5_u32 {
            sleep(Duration::from_millis(200) * attempt);
            let free = || port::free(&self.data, attempt);
            let port = fixed.or_else(free).context("127.0.0.1 has no free port")?;
            self.forget_dead_postmaster();
            self.configure(port)?;
            let mut command = self.host.command("pg_ctl");
            command.args(["start", "--wait", "--silent"]).arg("-D").arg(&self.data);
            command.arg("-t").arg(PATIENCE.as_secs().to_string()).arg("-l").arg(self.log());
            match run(&mut command) {
                Ok(()) => return Ok(port),
                Err(error) => failure = Some(error),
            }
        }
        let failure = failure.context("there was an attempt")?;
        Err(failure.context(format!("{} does not start{}", self.data.display(), self.log_end())))
    }

    /// Stops the server if it runs.
    pub(crate) fn stop(&self, mode: Mode) -> Result<()> {
        if self.postmaster().is_none_or(|found| !self.is_ours(found.pid)) {
            return Ok(());
        }
        let mode = match mode {
            Mode::Fast => "fast",
            Mode::Immediate => "immediate",
        };
        let mut command = self.host.command("pg_ctl");
        command.args(["stop", "--wait", "--silent", "-m", mode]).arg("-D").arg(&self.data);
        run(command.arg("-t").arg(PATIENCE.as_secs().to_string()))
    }

    /// Makes the server, a standby, one that takes writes.
    pub(crate) fn promote(&self) -> Result<()> {
        let mut command = self.host.command("pg_ctl");
        command.args(["promote", "--wait", "--silent"]).arg("-D").arg(&self.data);
        run(command.arg("-t").arg(PATIENCE.as_secs().to_string()))
    }

    /// What `postmaster.pid` says, be it true or not.
    pub(crate) fn postmaster(&self) -> Option<Postmaster> {
        let text = fs::read_to_string(self.data.join("postmaster.pid")).ok()?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        // Being written, the file is short for a moment; the server is not ready then.
        let port = lines.get(3).and_then(|line| line.parse().ok()).unwrap_or(0);
        let ready = lines.get(7).is_some_and(|status| ["ready", "standby"].contains(status));
        Some(Postmaster { pid: lines.first()?.parse().ok()?, port, ready })
    }

    /// Whether a process is the server of this folder. After a crash the number in
    /// `postmaster.pid` may belong to any process, in a container quite likely to another server.
    fn is_ours(&self, pid: u32) -> bool {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).or_else(|_| {
            let pid = pid.to_string();
            Command::new("ps").args(["-ww", "-o", "args=", "-p", &pid]).output().map(|o| o.stdout)
        });
        let data = self.data.as_os_str().as_encoded_bytes();
        arguments.is_ok_and(|text| text.windows(data.len()).any(|part| part == data))
    }

    /// PostgreSQL refuses to start while the process in `postmaster.pid` is alive, whatever that
    /// process is.
    fn forget_dead_postmaster(&self) {
        if self.postmaster().is_some_and(|found| !self.is_ours(found.pid)) {
            let _gone_already = fs::remove_file(self.data.join("postmaster.pid"));
        }
    }

    fn configure(&self, port: u16) -> Result<()> {
        let mut text = String::new();
        let port = port.to_string();
        let fixed = [
            ("listen_addresses", "127.0.0.1"),
            ("port", port.as_str()),
            // TCP is enough, and a socket's path may not be longer than 107 bytes.
            ("unix_socket_directories", ""),
            ("timezone", "UTC"),
        ];
        let wanted = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in fixed.into_iter().chain(wanted) {
            text += &format!("{name} = '{}'\n", value.replace('\'', "''"));
        }
        fs::write(self.data.join(SETTINGS), text)?;
        let main = self.data.join("postgresql.conf");
        let include = format!("include '{SETTINGS}'\n");
        let mut text = fs::read_to_string(&main)?;
        if !text.ends_with(&include) {
            text += &include;
            fs::write(&main, text)?;
        }
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.data.join("server.log")
    }

    /// The last lines of the log, for an error message.
    fn log_end(&self) -> String {
        let text = fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(12)..];
        format!("; {} ends with:\n{}", self.log().display(), last.join("\n"))
    }
}

/// The URL of the maintenance database of a server on this port.
pub(crate) fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres")
}
