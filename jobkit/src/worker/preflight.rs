//! Checks whether this binary can read stored payloads.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Worker;
use super::start::check;
use crate::error::{StartError, StartProblems};
use crate::registry::Registry;
use crate::store::{Link, scheduled_payloads, stored_payloads};
use crate::version::split;

/// How many jobs and dead letters are looked at from each end, and how many schedules.
const LOOKED_AT: i64 = 10_000;
/// How many of a kind and version are read from each end.
const READ: i64 = 20;
/// How many ids a problem names.
const NAMED: usize = 5;

/// The result of [`Worker::preflight`] if every payload that it read decodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preflight {
    /// How many payloads were read.
    pub read: usize,
    /// Kinds and versions that this binary does not know, with the number of jobs, dead letters and
    /// schedules found. Another binary has to run these.
    pub left_alone: Vec<(String, u16, u32)>,
}

/// Problems with the payloads of a kind, and the jobs that have them.
type Findings = BTreeMap<(String, String), Vec<String>>;

/// Reads a sample.
pub(super) async fn preflight(worker: &Worker) -> Result<Preflight, StartError> {
    let linked;
    let registry = match &worker.registry {
        Some(registry) => registry,
        None => {
            linked = Registry::linked();
            &linked
        }
    };
    let mut link = Link::new("preflight", worker.source.clone(), worker.settings.deadlines());
    check(&mut link).await?;
    let sample = link.call(&stored_payloads(LOOKED_AT, READ)).await?;
    let scheduled = link.call(&scheduled_payloads(LOOKED_AT)).await?;
    link.close().await;
    let (mut report, mut findings) = (Preflight::default(), Findings::new());
    let mut alone = BTreeMap::new();
    for stored in sample {
        let what = if stored.dead { "dead letter" } else { "job" };
        match unread(registry, &stored.name, &stored.args) {
            // Each row says how many there are in total.
            None => drop(alone.insert((stored.name, what), stored.met)),
            Some(Ok(())) => report.read += 1,
            Some(Err(error)) => {
                let id = format!("{what} {}", stored.id);
                findings.entry((stored.name, error)).or_default().push(id);
            }
        }
    }
    for stored in scheduled {
        match unread(registry, &stored.kind, &stored.args) {
            None => *alone.entry((stored.kind, "schedule")).or_default() += 1,
            Some(Ok(())) => report.read += 1,
            Some(Err(error)) => {
                let whose = findings.entry((stored.kind, error)).or_default();
                whose.push(format!("schedule {}", stored.name));
            }
        }
    }
    for ((name, _), met) in alone {
        let (kind, version) = split(&name);
        match report.left_alone.last_mut() {
            Some((last, of, sum)) if last == kind && *of == version => *sum += met,
            _ => report.left_alone.push((kind.to_owned(), version, met)),
        }
    }
    if findings.is_empty() {
        return Ok(report);
    }
    Err(StartError::Unreadable(StartProblems(findings.into_iter().map(sentence).collect())))
}

/// What is wrong with a payload; `None` if it is left alone.
fn unread(registry: &Registry, name: &str, args: &str) -> Option<Result<(), String>> {
    let known = registry.get(name)?;
    let read = || known.registration.key_of(known.kind, known.version, args.as_bytes()).map(drop);
    // The `upcast` function may panic.
    Some(catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("reading it panics".into())))
}

fn sentence(((name, error), ids): ((String, String), Vec<String>)) -> String {
    let (kind, version) = split(&name);
    let named = ids[..ids.len().min(NAMED)].join(", ");
    let others = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    format!("`{kind}`, version {version}: {error} ({named}{others})")
}

impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} payloads read", self.read)?;
        self.left_alone.iter().try_for_each(|(kind, version, met)| {
            write!(f, "; left alone: version {version} of `{kind}`, {met} met")
        })
    }
}
