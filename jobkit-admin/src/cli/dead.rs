//! Dead letters.

use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Subcommand;
use jobkit::admin::dead_letters::{DeadLetterDiscarded, DeadLetterId};
use jobkit::admin::operations::BulkAction;
use serde_json::{Value, json};

use super::answer::{Answer, Failure, tell};
use super::arguments::{self, Consent, Rows, span};
use super::desk::{Answered, Desk};
use super::operations;
use crate::format::show::{iso, utc};

mod filter;
mod found;

use self::filter::{Filter, Open};
use self::found::Place;

#[derive(Debug, Subcommand)]
pub(super) enum Dead {
    /// Lists dead letters, the newest first
    List {
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        rows: Rows,
        /// Continues after the last entry of the previous page
        #[arg(long, value_name = "PLACE")]
        after: Option<Place>,
    },
    /// Lists open dead letters grouped by similar errors
    Groups,
    /// Writes a note about a cause, replacing its current one
    Note {
        /// The fingerprint, as `dead groups` shows it
        fingerprint: String,
        /// The note; an empty one removes it
        note: String,
    },
    /// Mutes a cause: it is not listed as needing attention for a while
    Mute {
        /// The fingerprint, as `dead groups` shows it
        fingerprint: String,
        /// How long: 7days, 12h
        #[arg(long, value_name = "TIME", value_parser = span)]
        r#for: Duration,
    },
    /// Unmutes a cause
    Unmute {
        /// The fingerprint, as `dead groups` shows it
        fingerprint: String,
    },
    /// Shows everything known about a dead letter
    Show {
        #[arg(allow_negative_numbers = true)]
        id: i64,
    },
    /// Replays a dead letter as a new job with all its attempts
    Replay {
        #[arg(allow_negative_numbers = true)]
        id: i64,
        #[command(flatten)]
        overrides: Overrides,
    },
    /// Replays all matching open dead letters
    ReplayAll {
        #[command(flatten)]
        filter: Open,
        /// The most jobs to replay per second
        #[arg(long, value_name = "NUMBER")]
        per_second: Option<u32>,
        #[command(flatten)]
        consent: Consent,
    },
    /// Permanently removes a dead letter
    Discard {
        #[arg(allow_negative_numbers = true)]
        id: i64,
    },
    /// Permanently removes all matching dead letters
    DiscardAll {
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        consent: Consent,
    },
    /// Permanently removes matching dead letters whose last failure is old enough
    Purge {
        #[command(flatten)]
        filter: Filter,
        /// The minimum age of the last failure: 30days, 12h
        #[arg(long, value_name = "TIME", value_parser = span)]
        older_than: Duration,
        #[command(flatten)]
        consent: Consent,
    },
}

/// What to change in the new job.
#[derive(Debug, clap::Args)]
pub(super) struct Overrides {
    /// The queue to wait in
    #[arg(long)]
    queue: Option<String>,
    /// Not before this time: 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    at: Option<DateTime<Utc>>,
    /// The payload, as JSON
    #[arg(long, value_name = "JSON", value_parser = arguments::json)]
    args: Option<Value>,
    /// How many attempts it gets, 1 to 1000
    #[arg(long, value_name = "NUMBER")]
    attempts: Option<u16>,
}

impl Dead {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::Groups => found::groups(desk).await,
            Self::Note { fingerprint, note } => self::note(desk, &fingerprint, &note).await,
            Self::Mute { fingerprint, r#for } => mute(desk, &fingerprint, r#for).await,
            Self::Unmute { fingerprint } => unmute(desk, &fingerprint).await,
            Self::List { filter, rows, after } => {
                found::list(desk, &filter.filter(), after, rows.limit).await
            }
            Self::Show { id } => found::show(desk, DeadLetterId(id)).await,
            Self::Replay { id, overrides } => replay(desk, DeadLetterId(id), overrides).await,
            Self::ReplayAll { filter, per_second, consent } => {
                let action = BulkAction::Replay(filter.filter());
                act(desk, &action, "replayed", per_second, consent).await
            }
            Self::Discard { id } => discard(desk, DeadLetterId(id)).await,
            Self::DiscardAll { filter, consent } => {
                let action = BulkAction::DiscardDeadLetters(filter.filter());
                act(desk, &action, "removed permanently", None, consent).await
            }
            Self::Purge { filter, older_than, consent } => {
                let action = BulkAction::Purge(filter.filter(), older_than);
                act(desk, &action, "removed permanently", None, consent).await
            }
        }
    }
}

async fn note(desk: &Desk, fingerprint: &str, note: &str) -> Answered {
    desk.admin.cause(fingerprint).note(note).await?;
    let json = json!({"fingerprint": fingerprint, "note": note});
    Ok(Answer::done(json, &format!("The note about the cause {fingerprint} is saved.")))
}

async fn mute(desk: &Desk, fingerprint: &str, time: Duration) -> Answered {
    let until = desk.admin.cause(fingerprint).mute(time).await?;
    let json = json!({"fingerprint": fingerprint, "muted_until": iso(&until)});
    Ok(Answer::done(json, &format!("The cause {fingerprint} is muted until {}.", utc(&until))))
}

async fn unmute(desk: &Desk, fingerprint: &str) -> Answered {
    desk.admin.cause(fingerprint).unmute().await?;
    let json = json!({"fingerprint": fingerprint, "muted_until": null});
    Ok(Answer::done(json, &format!("The cause {fingerprint} is no longer muted.")))
}

/// Acts on everything that matches in one operation; without consent, only reports how many match.
async fn act(
    desk: &Desk,
    action: &BulkAction,
    what: &str,
    per_second: Option<u32>,
    consent: Consent,
) -> Answered {
    match consent.yes {
        true => operations::carry_out(desk, action, &consent.reason, per_second).await,
        false => would(desk, action, what).await,
    }
}

/// Reports how many would be affected, and does nothing.
async fn would(desk: &Desk, action: &BulkAction, what: &str) -> Answered {
    let preview = desk.admin.preview(action).await?;
    tell("jobkit: nothing was done; use --yes to do it");
    Ok(found::preview(&preview, action.verb(), what).wrong(true))
}

async fn replay(desk: &Desk, id: DeadLetterId, overrides: Overrides) -> Answered {
    let Overrides { queue, at, args, attempts } = overrides;
    let mut replay = desk.admin.dead_letter(id).replay();
    if let Some(queue) = queue {
        replay = replay.queue(queue);
    }
    if let Some(at) = at {
        replay = replay.run_at(at);
    }
    if let Some(args) = args {
        replay = replay.args(args);
    }
    if let Some(attempts) = attempts {
        replay = replay.attempts(attempts);
    }
    let job = replay.await?;
    let json = json!({"id": id.to_string(), "job": job.to_string()});
    Ok(Answer::done(json, &format!("Job {job} replays dead letter {id}.")))
}

async fn discard(desk: &Desk, id: DeadLetterId) -> Answered {
    match desk.admin.dead_letter(id).discard().await? {
        DeadLetterDiscarded::Now => {
            let json = json!({"id": id.to_string(), "discarded": true});
            Ok(Answer::done(json, &format!("Dead letter {id} is removed.")))
        }
        DeadLetterDiscarded::NotFound => Err(Failure::none(&format!("dead letter {id}"))),
        _ => Err(Failure::refused("a job is replaying it: cancel that job first")),
    }
}
