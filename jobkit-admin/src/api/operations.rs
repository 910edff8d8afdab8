//! Bulk actions: previewed first, then begun, watched and cancelled.

use jobkit::admin::Count;
use jobkit::admin::operations::Operation;
use serde_json::{Value, json};

use super::json::{answer, body, done};
use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::values;
use crate::request::bulk::BulkRequest;

pub(crate) async fn list(context: &Context) -> Answer {
    let limit = context.request.clamped("limit", 1, 100, 50);
    let before = context.request.query("after").and_then(|id| id.parse().ok());
    let operations = context.admin().operations(before, limit).await?;
    let full = operations.len() == limit as usize;
    let path = |last: &Operation| {
        context.link(&format!("/api/v1/operations?limit={limit}&after={}", last.id))
    };
    let next = operations.last().filter(|_| full).map(path);
    let items: Vec<_> = operations.iter().map(values::operation).collect();
    Ok(answer(json!({"items": items, "next": next})))
}

pub(crate) async fn show(context: &Context) -> Answer {
    Ok(answer(values::operation(&one(context).await?)))
}

async fn one(context: &Context) -> Result<Operation, Failure> {
    context.admin().operation(context.request.id()?).get().await?.ok_or(Failure::NotFound)
}

/// What an operation would act on, and the confirmation it needs if the count is unknown.
pub(crate) async fn preview(context: &Context) -> Answer {
    let bulk: BulkRequest = body(context)?;
    let preview = context.admin().preview(&bulk.action(&context.access)?).await?;
    let confirm = match preview.count {
        Count::AtLeast(_) => Some(bulk.name(&context.access)?),
        Count::Exactly(_) => None,
    };
    let jobs: Vec<_> = preview.jobs.iter().map(values::job_summary).collect();
    let letters: Vec<_> = preview.dead_letters.iter().map(values::dead_letter_summary).collect();
    let count = values::count(preview.count);
    let of = json!({"count": count, "confirm": confirm, "jobs": jobs, "dead_letters": letters});
    Ok(answer(of))
}

/// Begins an operation, or finds the one that was begun with this key.
pub(crate) async fn begin(context: &Context) -> Answer {
    let bulk: BulkRequest = body(context)?;
    let action = bulk.action(&context.access)?;
    let missing = || Failure::Invalid("“idempotency_key” is missing.".into());
    let key = bulk.idempotency_key.as_deref().ok_or_else(missing)?;
    let reason = bulk.reason()?;
    bulk.is_confirmed_by_name(&context.access, context.admin().preview(&action).await?.count)?;
    Ok(answer(values::operation(&context.admin().begin_operation(&action, reason, key).await?)))
}

/// The items that were skipped.
pub(crate) async fn results(context: &Context) -> Answer {
    let operation = one(context).await?;
    let results = context.admin().operation(operation.id).results().await?;
    let item = |result: &jobkit::admin::operations::OperationResult| -> Value {
        json!({"id": result.subject.to_string(), "outcome": result.outcome})
    };
    let items: Vec<_> = results.iter().map(item).collect();
    Ok(answer(json!({"items": items, "skipped": operation.skipped})))
}

pub(crate) async fn cancel(context: &Context) -> Answer {
    if context.admin().operation(context.request.id()?).cancel().await? {
        return Ok(done());
    }
    one(context).await?;
    Err(Failure::Conflict("The operation has already ended.".into()))
}
