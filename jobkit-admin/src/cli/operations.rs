//! Bulk actions, carried out by this process or by workers.

use clap::Subcommand;
use jobkit::admin::operations::{BulkAction, Operation, OperationResult, OperationState};
use serde_json::{Value, json};

use super::answer::{Answer, Failure, fields, table, tell};
use super::arguments::Rows;
use super::desk::{Answered, Desk};
use crate::format::show::{large, utc};
use crate::format::values;

/// The largest page there is.
const PAGE: u32 = 100;

#[derive(Debug, Subcommand)]
pub(super) enum Operations {
    /// Lists operations, the newest first
    List {
        #[command(flatten)]
        rows: Rows,
        /// Continues after the last operation of the previous page
        #[arg(long, value_name = "ID")]
        after: Option<i64>,
    },
    /// Shows an operation and the items it could not act on
    Show { id: i64 },
    /// Cancels an operation; what it has already done is not undone
    Cancel { id: i64 },
}

impl Operations {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List { rows, after } => list(desk, after, rows.limit).await,
            Self::Show { id } => {
                let this = desk.admin.operation(id);
                let operation = this.get().await?.ok_or_else(|| none(id))?;
                let results = this.results().await?;
                let mut json = values::operation(&operation);
                json["results"] = results.iter().map(result).collect();
                Ok(Answer::new(json, whole(&operation, &results)))
            }
            Self::Cancel { id } => {
                if !desk.admin.operation(id).cancel().await? {
                    let text = format!("there is no unfinished operation {id}");
                    return Err(Failure::refused(text));
                }
                let json = json!({"id": id.to_string(), "cancelled": true});
                Ok(Answer::done(json, &format!("Operation {id} is cancelled.")))
            }
        }
    }
}

/// Starts an operation and carries it out, together with any workers.
pub(super) async fn carry_out(
    desk: &Desk,
    action: &BulkAction,
    reason: &str,
    per_second: Option<u32>,
) -> Answered {
    let key = super::password::random().map(|key| format!("command line {key}"))?;
    let mut begin = desk.admin.begin_operation(action, reason, &key);
    if let Some(number) = per_second {
        begin = begin.per_second(number);
    }
    finish(desk, begin.await?.id).await
}

/// Carries out an operation that has begun, together with any workers.
pub(super) async fn finish(desk: &Desk, id: i64) -> Answered {
    let mut carry_out = desk.admin.operation(id).run();
    if !desk.json {
        tell(&format!("Operation {id} has started; to cancel it: jobkit operations cancel {id}"));
        carry_out =
            carry_out.progress(|now| tell(&format!("{} of {}", large(&now.done), total(now))));
    }
    let ended = carry_out.await?.ok_or_else(|| none(id))?;
    let done = ended.state == OperationState::Done;
    Ok(Answer::done(values::operation(&ended), &outcome(&ended)).wrong(!done))
}

/// The outcome of an operation, in a sentence.
fn outcome(ended: &Operation) -> String {
    let (id, done, skipped) = (ended.id, large(&ended.done), large(&ended.skipped));
    let skipped = match ended.skipped {
        0 => String::new(),
        _ => format!("; {skipped} skipped: jobkit operations show {id} shows why"),
    };
    let error = ended.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("Operation {id} is {}{error}: {done} done{skipped}.", ended.state.as_str())
}

fn none(id: i64) -> Failure {
    Failure::none(&format!("operation {id}"))
}

async fn list(desk: &Desk, before: Option<i64>, limit: u32) -> Answered {
    let operations = desk.admin.operations(before, limit).await?;
    let items: Vec<_> = operations.iter().map(values::operation).collect();
    let full = operations.len() == limit.min(PAGE) as usize;
    let next = operations.last().filter(|_| full).map(|last| last.id);
    let headings = ["id", "verb", "state", "done", "of", "skipped", "begun", "by"];
    let mut text = table(headings, operations.iter().map(row).collect());
    if let Some(next) = next {
        text.push_str(&format!("\nMore may follow: --after {next}\n"));
    }
    Ok(Answer::new(json!({"items": items, "next": next.map(|id| id.to_string())}), text))
}

fn row(operation: &Operation) -> [String; 8] {
    [
        operation.id.to_string(),
        operation.verb.clone(),
        operation.state.as_str().to_owned(),
        large(&operation.done),
        total(operation),
        large(&operation.skipped),
        utc(&operation.created_at),
        operation.actor.clone().unwrap_or_default(),
    ]
}

/// How many match, as far as they have been counted.
fn total(operation: &Operation) -> String {
    match operation.total {
        Some(total) => large(&total),
        None => format!("? ({} counted)", large(&operation.counted)),
    }
}

fn result(result: &OperationResult) -> Value {
    json!({"subject": result.subject.to_string(), "outcome": result.outcome})
}

fn whole(operation: &Operation, results: &[OperationResult]) -> String {
    let mut text = fields(vec![
        ("id", operation.id.to_string()),
        ("verb", operation.verb.clone()),
        ("filter", operation.filter.to_string()),
        ("reason", operation.reason.clone().unwrap_or_default()),
        ("state", operation.state.as_str().to_owned()),
        ("error", operation.error.clone().unwrap_or_default()),
        ("done", format!("{} of {}", large(&operation.done), total(operation))),
        (
            "asked to stop",
            Some(operation.stop_requested)
                .filter(|jobs| *jobs > 0)
                .map(|jobs| large(&jobs))
                .unwrap_or_default(),
        ),
        ("skipped", large(&operation.skipped)),
        ("by", operation.actor.clone().unwrap_or_default()),
        ("begun", utc(&operation.created_at)),
        ("ended", operation.ended_at.as_ref().map(utc).unwrap_or_default()),
    ]);
    if !results.is_empty() {
        let row = |result: &OperationResult| [result.subject.to_string(), result.outcome.clone()];
        text.push('\n');
        text.push_str(&table(["id", "why"], results.iter().map(row).collect()));
    }
    text
}
