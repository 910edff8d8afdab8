//! What is logged, for a test to read.

use std::io;
use std::mem::take;
use std::sync::{Arc, Mutex};

use tracing::Level;
use tracing::subscriber::{DefaultGuard, set_default};
use tracing_subscriber::fmt::MakeWriter;

/// Keeps what is logged: the writer of a subscriber, and what its test reads.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Keeps what this thread logs of this level or worse while the guard lives: a test that runs
    /// on one thread sees its workers' tasks, and nothing of other tests.
    #[must_use]
    pub fn listen(level: Level) -> (Self, DefaultGuard) {
        let log = Self::default();
        let format = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone());
        (log, set_default(format.with_max_level(level).finish()))
    }

    /// All that was logged until now.
    #[must_use]
    pub fn text(&self) -> String {
        text(self.0.lock().expect("no writer panics").clone())
    }

    /// The same, and forgets it.
    #[must_use]
    pub fn take(&self) -> String {
        text(take(&mut *self.0.lock().expect("no writer panics")))
    }

    /// The lines that contain this.
    #[must_use]
    pub fn lines(&self, part: &str) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("a log is text")
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
