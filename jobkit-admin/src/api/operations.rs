//! Actions on many at once: looked at first, then begun, watched and cancelled.

use jobkit::admin::Count;
use jobkit::admin::operations::Operation;
use serde_json::{Value, json};

use super::{answer, body, done, values};
use crate::failure::Failure;
use crate::router::Answer;
use crate::visit::Visit;
use crate::wanted::Wanted;

pub(super) async fn list(visit: &Visit) -> Answer {
    let limit = visit.clamped("limit", 1, 100, 50);
    let before = visit.query("after").and_then(|id| id.parse().ok());
    let operations = visit.admin().operations(before, limit).await?;
    let full = operations.len() == limit as usize;
    let path = |last: &Operation| {
        visit.link(&format!("/api/v1/operations?limit={limit}&after={}", last.id))
    };
    let next = operations.last().filter(|_| full).map(path);
    let items: Vec<_> = operations.iter().map(values::operation).collect();
    Ok(answer(json!({"items": items, "next": next})))
}

pub(super) async fn show(visit: &Visit) -> Answer {
    Ok(answer(values::operation(&one(visit).await?)))
}

async fn one(visit: &Visit) -> Result<Operation, Failure> {
    visit.admin().operation(visit.id()?).await?.ok_or(Failure::NotFound)
}

/// What an operation would be about, and what confirms it where nobody knows how many are meant.
pub(super) async fn preview(visit: &Visit) -> Answer {
    let wanted: Wanted = body(visit)?;
    let preview = visit.admin().preview(&wanted.action(visit)?).await?;
    let confirm = match preview.count {
        Count::AtLeast(_) => Some(wanted.name(visit)?),
        Count::Exactly(_) => None,
    };
    let jobs: Vec<_> = preview.jobs.iter().map(values::job_summary).collect();
    let letters: Vec<_> = preview.dead_letters.iter().map(values::dead_letter_summary).collect();
    let count = values::count(preview.count);
    let of = json!({"count": count, "confirm": confirm, "jobs": jobs, "dead_letters": letters});
    Ok(answer(of))
}

/// Begins one, or finds the one that was begun with this key.
pub(super) async fn begin(visit: &Visit) -> Answer {
    let wanted: Wanted = body(visit)?;
    let action = wanted.action(visit)?;
    let missing = || Failure::Invalid("“idempotency_key” is missing.".into());
    let key = wanted.idempotency_key.as_deref().ok_or_else(missing)?;
    let reason = wanted.reason()?;
    wanted.is_confirmed_by_name(visit, visit.admin().preview(&action).await?.count)?;
    Ok(answer(values::operation(&visit.admin().begin_operation(&action, reason, key).await?)))
}

/// With whom it did not go as asked.
pub(super) async fn results(visit: &Visit) -> Answer {
    let operation = one(visit).await?;
    let results = visit.admin().operation_results(operation.id).await?;
    let item = |result: &jobkit::admin::operations::OperationResult| -> Value {
        json!({"id": result.subject.to_string(), "outcome": result.outcome})
    };
    let items: Vec<_> = results.iter().map(item).collect();
    Ok(answer(json!({"items": items, "skipped": operation.skipped})))
}

pub(super) async fn cancel(visit: &Visit) -> Answer {
    if visit.admin().cancel_operation(visit.id()?).await? {
        return Ok(done());
    }
    one(visit).await?;
    Err(Failure::Conflict("It has ended already.".into()))
}
