//! Dead letters, as they are shown.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use jobkit::admin::dead_letters::{
    DeadLetter, DeadLetterCursor, DeadLetterFilter, DeadLetterId, DeadLetterSummary,
};
use jobkit::admin::operations::Preview;
use serde_json::json;

use crate::cli::answer::{Answer, Failure, brief, fields, lines, table};
use crate::cli::desk::{Answered, Desk};
use crate::cli::jobs;
use crate::format::payload;
use crate::format::show::{count, matching, utc};
use crate::format::values;

/// The end of a page of dead letters: `2026-01-31T12:00:00.123456Z,4711`.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Place(DeadLetterCursor);

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let place = || {
            let (failed_at, id) = text.split_once(',')?;
            let failed_at: DateTime<Utc> = failed_at.parse().ok()?;
            Some(Self(DeadLetterCursor { failed_at, id: DeadLetterId(id.parse().ok()?) }))
        };
        place().ok_or("not a position in a list of dead letters; start from the first page")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeadLetterCursor { failed_at, id } = self.0;
        write!(f, "{},{id}", failed_at.to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

pub(super) async fn list(
    desk: &Desk,
    filter: &DeadLetterFilter,
    after: Option<Place>,
    limit: u32,
) -> Answered {
    let page = desk.admin.dead_letters(filter, after.map(|place| place.0), limit).await?;
    let next = page.next.map(|next| Place(next).to_string());
    let items: Vec<_> = page.entries.iter().map(values::dead_letter_summary).collect();
    let mut text = rows(&page.entries);
    if let Some(next) = &next {
        text.push_str(&format!("\nMore follow: --after {next}\n"));
    }
    Ok(Answer::new(json!({"items": items, "next": next}), text))
}

fn rows(entries: &[DeadLetterSummary]) -> String {
    let row = |entry: &DeadLetterSummary| {
        [
            entry.id.to_string(),
            entry.state.as_str().to_owned(),
            entry.kind.clone(),
            entry.queue.clone(),
            entry.key.clone().unwrap_or_default(),
            utc(&entry.failed_at),
            brief(&entry.error),
        ]
    };
    let headings = ["id", "state", "kind", "queue", "key", "failed", "error"];
    table(headings, entries.iter().map(row).collect())
}

pub(super) async fn groups(desk: &Desk) -> Answered {
    let groups = desk.admin.dead_letter_groups(100).await?;
    let items: Vec<_> = groups.iter().map(values::dead_letter_group).collect();
    let row = |group: &jobkit::admin::dead_letters::DeadLetterGroup| {
        [
            group.fingerprint.clone(),
            count(&group.count),
            group.kind.clone(),
            utc(&group.last_failed_at),
            brief(&group.error),
            group.muted_until.as_ref().map(utc).unwrap_or_default(),
            group.note.as_ref().map(|note| brief(&note.text)).unwrap_or_default(),
        ]
    };
    let headings = ["fingerprint", "number", "kind", "last failed", "error", "muted until", "note"];
    let text = table(headings, groups.iter().map(row).collect());
    Ok(Answer::new(json!({"items": items}), text))
}

pub(super) async fn show(desk: &Desk, id: DeadLetterId) -> Answered {
    let letter = desk.admin.dead_letter(id).get().await?;
    let letter = letter.ok_or_else(|| Failure::none(&format!("dead letter {id}")))?;
    let json = values::dead_letter(&letter, Some(desk.redaction));
    Ok(Answer::new(json, whole(desk, &letter)))
}

fn whole(desk: &Desk, letter: &DeadLetter) -> String {
    let of = &letter.summary;
    let key = letter.concurrency.as_ref().map(|(group, key)| format!("{group}/{key}"));
    let mut text = fields(vec![
        ("id", of.id.to_string()),
        ("state", of.state.as_str().to_owned()),
        ("kind", of.kind.clone()),
        ("version", letter.version.to_string()),
        ("queue", of.queue.clone()),
        ("key", of.key.clone().unwrap_or_default()),
        ("reason", of.reason.as_str().to_owned()),
        ("fingerprint", of.fingerprint.clone()),
        ("cycles", of.cycles.to_string()),
        ("attempts", of.attempts.to_string()),
        ("first failed", utc(&of.first_failed_at)),
        ("failed", utc(&of.failed_at)),
        ("job", letter.job.to_string()),
        ("replayed by", letter.replay.map(|job| job.to_string()).unwrap_or_default()),
        ("concurrency", key.unwrap_or_default()),
        ("tags", letter.tags.join(", ")),
    ]);
    text.push_str(&lines(&format!("\n{}\n", letter.error)));
    for failed in &letter.errors {
        text.push_str(&jobs::attempt(failed));
    }
    text.push_str(&format!("\nargs: {}\n", payload::shown(&letter.args, Some(desk.redaction))));
    if let Some(metadata) = &letter.metadata {
        let metadata = payload::shown(metadata, Some(desk.redaction));
        text.push_str(&format!("metadata: {metadata}\n"));
    }
    text
}

/// How many would be affected, with some examples.
pub(super) fn preview(preview: &Preview, verb: &str, what: &str) -> Answer {
    let number = matching(&preview.count);
    let mut text = format!("{number} dead letters would be {what}");
    if !preview.dead_letters.is_empty() {
        text.push_str(&format!(", such as\n\n{}", rows(&preview.dead_letters)));
    }
    let sample: Vec<_> = preview.dead_letters.iter().map(values::dead_letter_summary).collect();
    let count = values::count(preview.count);
    Answer::new(json!({"done": false, "verb": verb, "count": count, "sample": sample}), text)
}
