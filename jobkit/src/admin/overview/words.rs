//! The texts of what needs attention, and advice.

use std::time::Duration;

use super::attention::{Attention, Hold};
use crate::BatchId;
use crate::admin::Count;
use crate::admin::schedules::{OverdueSchedule, PausedSchedule};
use crate::admin::workers::WorkerSummary;

impl Attention {
    /// What was found: a sentence without a full stop. Names are as they were given.
    #[must_use]
    pub fn found(&self) -> String {
        match self {
            Self::NoWorker { jobs, schedules, operation, silent, .. } => {
                alone(*jobs, *schedules, *operation, silent)
            }
            Self::StandbyAwaited { .. }
            | Self::LateQueue { .. }
            | Self::HeldKey { .. }
            | Self::PausedKey { .. }
            | Self::LongRun { .. } => self.found_waiting(),
            Self::LateWorker(worker) => silent(worker),
            Self::Unserved { queue, kind, version, announced, jobs, .. } => {
                let ever = if *announced { "" } else { ", and none has ever announced it" };
                let of =
                    version.map(|version| format!("version {version} of ")).unwrap_or_default();
                let wait = if *jobs == Count::Exactly(1) { "waits" } else { "wait" };
                format!("no live worker serves {of}the kind {kind} in {queue}{ever}: {jobs} {wait}")
            }
            Self::FullQueue { queue, limit, .. } => {
                let jobs = of_jobs(*limit);
                format!("queue {queue} is full: {jobs} may wait, and enqueues are refused")
            }
            Self::LostWorker { .. } => self.found_lost(),
            Self::StuckJob(stuck) => format!("job {}: {stuck}", stuck.job),
            Self::StuckOperation { operation, verb, since } => {
                format!("operation {operation} ({verb}) has made no progress for {}", span(*since))
            }
            Self::OverdueSchedule(OverdueSchedule { name, times, overdue }) => {
                format!("schedule {name} ({times}) is {} overdue", span(*overdue))
            }
            Self::UnclosedBatch { batch, ago, .. } => unclosed(*batch, *ago),
            Self::DeadLetters { lately, .. } => {
                format!("{} within the last hour", several(*lately, "dead letter"))
            }
            Self::PausedQueue { queue, actor, reason, ready, .. } => {
                let (by, why) = said(actor.as_deref(), reason.as_deref());
                format!("queue {queue} is paused{by}, {ready} ready{why}")
            }
            Self::PausedScope { scope, pause } => {
                let (by, why) = said(pause.actor.as_deref(), pause.reason.as_deref());
                format!("{scope} is paused{by}{why}")
            }
            Self::PausedSchedule(PausedSchedule { name, times, actor, reason, .. }) => {
                let (by, why) = said(actor.as_deref(), reason.as_deref());
                format!("schedule {name} ({times}) is paused{by}, and has not fired since{why}")
            }
        }
    }

    fn found_waiting(&self) -> String {
        match self {
            Self::StandbyAwaited { sessions, longest, names } => {
                awaited(*sessions, *longest, names)
            }
            Self::LateQueue { queue, oldest, slots, busy, stopping, gone } => {
                let oldest = span(*oldest);
                let held = |number: u32, by: &str| match number {
                    0 => String::new(),
                    number => format!(", {number} held by workers that are {by}"),
                };
                let (stopping, gone) = (held(*stopping, "stopping"), held(*gone, "gone"));
                format!(
                    "queue {queue} is {oldest} late, with {busy} of {slots} slots \
                     taken{stopping}{gone}"
                )
            }
            Self::HeldKey { group, key, by, blocked, blocked_age } => {
                let age = span(*blocked_age);
                let by = match by {
                    Hold::Limit { limit, taken } => {
                        format!("has {taken} of {limit} permits taken")
                    }
                    Hold::Rate { rate: Some(rate), .. } => format!("waits for its rate, {rate}"),
                    Hold::Rate { rate: None, .. } => "waits for its rate".to_owned(),
                };
                format!("{group}/{key} {by}, {blocked} blocked, the first for {age}")
            }
            Self::PausedKey { group, key, until, blocked, blocked_age } => {
                let (age, until) = (span(*blocked_age), until.format("%Y-%m-%d %H:%M:%S UTC"));
                format!(
                    "{group}/{key} is paused until {until}, {blocked} blocked, the first for {age}"
                )
            }
            Self::LongRun { kind, queue, job, name, ran, usual, jobs, .. } => {
                let usual = usual.map(|usual| format!("; 99 of 100 take {} at most", brief(usual)));
                let others = match jobs {
                    0 | 1 => String::new(),
                    jobs => format!(", and {} of its kind run as long", jobs - 1),
                };
                format!(
                    "{kind} {job} in {queue} has run for {} on worker {name}{others}{}",
                    span(*ran),
                    usual.unwrap_or_default(),
                )
            }
            _ => String::new(),
        }
    }

    fn found_lost(&self) -> String {
        let Self::LostWorker { name, times, id, ago, jobs, back, .. } = self else {
            return String::new();
        };
        let (jobs, ago) = (of_jobs(*jobs), span(*ago));
        let back = if back.is_some() { "; a worker of this name is back" } else { "" };
        match times {
            1 => format!("worker {name} ({id:x}) was lost {ago} ago, with {jobs} in hand{back}"),
            times => format!(
                "worker {name} was lost {times} times, the last {ago} ago, with {jobs} in \
                 hand{back}"
            ),
        }
    }

    /// What to do about it: a sentence without a full stop.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NoWorker { .. } => "start a worker, and find out why the last one ended",
            Self::StandbyAwaited { .. } => {
                "bring the standby back, or take it out of `synchronous_standby_names`: until then \
                 nothing is enqueued, claimed or ended, and calls fail with lock timeouts"
            }
            Self::LateWorker(_) => {
                "check whether its process runs and reaches the database; otherwise its jobs are \
                 taken back automatically"
            }
            Self::Unserved { announced: true, version: Some(_), .. } => {
                "start a worker that serves the queue and whose binary knows this version, or has \
                 an `upcast` for it"
            }
            Self::Unserved { announced: true, .. } => {
                "start a worker that serves the queue and has the kind"
            }
            Self::Unserved { announced: false, .. } => {
                "start a worker whose binary has the kind (a crate of jobs may not be linked), \
                 or cancel the jobs"
            }
            Self::LateQueue { .. } => {
                "check what occupies its slots; give it more slots, or start more workers"
            }
            Self::FullQueue { .. } => {
                "check what delays its jobs, start more workers, or raise its limit"
            }
            Self::LostWorker { .. } => {
                "its jobs run again automatically: find out why its process ended or froze (out \
                 of memory, a blocked thread, the network)"
            }
            _ => self.advice_on_work(),
        }
    }

    fn advice_on_work(&self) -> &'static str {
        match self {
            Self::StuckJob(stuck) if stuck.transition == "open" => {
                "give the workers of its queue the key that its payload is sealed with; the job \
                 then continues automatically"
            }
            Self::StuckJob(_) => {
                "fix what the server reports (a damaged page, a full disk, a missing replica \
                 identity); the job then continues automatically"
            }
            Self::LongRun { .. } => {
                "check what it waits for; cancel it or stop its worker, and give the kind a timeout"
            }
            Self::StuckOperation { .. } => {
                "check whether a worker is alive and what its log says, or cancel the operation"
            }
            Self::OverdueSchedule(_) => {
                "check whether a worker is alive that can read its times, and what its log says"
            }
            Self::UnclosedBatch { .. } => {
                "find out whether its program still runs; otherwise close the batch or cancel it, \
                 and its callbacks run"
            }
            Self::HeldKey { by: Hold::Limit { limit: 0, .. }, .. } => {
                "its jobs never run: raise its limit"
            }
            Self::HeldKey { by: Hold::Limit { .. }, .. } => {
                "check what holds its permits, or raise its limit"
            }
            Self::HeldKey { .. } => "raise its rate, or find out what enqueues so many jobs",
            Self::DeadLetters { .. } => "look at their causes, then replay or discard them",
            _ => "resume it once the reason is gone",
        }
    }
}

/// Who did something, and why, as they said.
fn said(actor: Option<&str>, reason: Option<&str>) -> (String, String) {
    let some = |text: Option<&str>, before: &str| {
        let text = text.filter(|text| !text.is_empty());
        text.map(|text| [before, text].concat()).unwrap_or_default()
    };
    (some(actor, " by "), some(reason, ": "))
}

fn unclosed(batch: BatchId, ago: Duration) -> String {
    let ago = span(ago);
    format!("batch {batch} was opened {ago} ago and never closed, and no member of it is left")
}

fn awaited(sessions: u32, longest: Duration, names: &str) -> String {
    let (wait, commit) = match sessions {
        1 => ("session waits", "its commit"),
        _ => ("sessions wait", "their commits"),
    };
    let longest = span(longest);
    format!(
        "{sessions} {wait} for a synchronous standby to confirm {commit}, the longest for \
         {longest} (synchronous_standby_names: {names})"
    )
}

fn alone(jobs: Count, schedules: Count, operation: bool, silent: &[String]) -> String {
    let mut work = Vec::new();
    if jobs.number() > 0 {
        work.push(several(jobs, "job"));
    }
    if schedules.number() > 0 {
        work.push(several(schedules, "schedule"));
    }
    if operation {
        work.push("an open operation".to_owned());
    }
    let one = work.len() == 1 && (operation || jobs.number() + schedules.number() == 1);
    let (work, are) = (work.join(" and "), if one { "is" } else { "are" });
    let silent = match silent {
        [] => String::new(),
        names => format!(" (silent: {})", names.join(", ")),
    };
    format!("no worker is alive{silent}, and there {are} {work}")
}

fn silent(worker: &WorkerSummary) -> String {
    let WorkerSummary { name, id, heartbeat_age, running, lapsed, .. } = worker;
    let lease = if *lapsed { "has lapsed" } else { "runs out" };
    let silent = span(*heartbeat_age);
    format!(
        "worker {name} ({id:x}) has been silent for {silent}, its lease {lease}, with {running} \
         running"
    )
}

fn several(count: Count, one: &str) -> String {
    let more = if count == Count::Exactly(1) { "" } else { "s" };
    format!("{count} {one}{more}")
}

fn of_jobs(number: u32) -> String {
    several(Count::Exactly(number), "job")
}

/// `12 s`, `14 min`, `5 h`.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// The same, with milliseconds below a second.
fn brief(time: Duration) -> String {
    if time.as_secs() == 0 { format!("{} ms", time.as_millis()) } else { span(time) }
}
