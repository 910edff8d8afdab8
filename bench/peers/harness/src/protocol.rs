//! Marks on stdout, answers on stdin.

use std::io::{BufRead, Write};

use anyhow::Result;
use serde_json::Value;

fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn hear() -> Result<()> {
    std::io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

/// Ready; returns when the measurement has begun.
pub(crate) fn start() -> Result<()> {
    say("START")?;
    hear()
}

/// Done, with what came out; returns when the measurement has ended.
pub(crate) fn end(figures: &Value) -> Result<()> {
    say(&format!("END {figures}"))?;
    hear()
}

/// How far the work is.
pub(crate) fn done(jobs: u64) -> Result<()> {
    say(&format!("DONE {jobs}"))
}

/// Completes when the benchmark says that it is enough.
pub(crate) async fn told_to_stop() -> Result<()> {
    tokio::task::spawn_blocking(hear).await?
}
