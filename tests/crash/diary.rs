//! What happens in one worker process, line by line, in a file outside the database: its runs of
//! jobs, written by itself, and what is done to it, written by whoever does it.
#![allow(dead_code, reason = "compiled into both, and each uses its part")]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::jobs::now;

/// The diary of one process. Its times are of this machine's clock, which is the database's, too.
#[derive(Debug, Clone)]
pub(crate) struct Diary {
    file: Arc<File>,
    runs: Arc<AtomicU64>,
}

impl Diary {
    /// That of the process with this id, in a folder for all of them.
    pub(crate) fn open(folder: &Path, pid: u32) -> io::Result<Self> {
        let path = folder.join(pid.to_string());
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Arc::new(file), runs: Arc::default() })
    }

    /// Writes a line, in one write: it is there as a whole or not at all.
    pub(crate) fn write(&self, what: &str) {
        let line = format!("{:.6} {what}\n", now());
        // Were a line missing, the run would be held to last until its process ends.
        let _unwritten = (&*self.file).write_all(line.as_bytes());
    }

    /// A run begins; it ends when this is dropped, whatever the reason.
    pub(crate) fn begin(&self, job: i64) -> Entry {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        self.write(&format!("begin {number} {job}"));
        Entry { diary: self.clone(), number }
    }
}

/// A run that goes on.
#[derive(Debug)]
pub(crate) struct Entry {
    diary: Diary,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.diary.write(&format!("end {}", self.number));
    }
}
