//! Batches: listed, looked into, and cancelled.

use jobkit::JobId;
use jobkit::admin::batches::{BatchCancelled, BatchQuery, BatchSummary, Members};
use jobkit::admin::jobs::JobSummary;
use jobkit::batch::BatchId;
use serde::Deserialize;
use serde_json::json;

use super::json::{answer, body};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::{batches, values};
use crate::request::batches as requested;

/// All batches, or with `state=open` those that have not ended.
pub(crate) async fn list(context: &Context) -> Answer {
    let limit = context.request.clamped("limit", 1, 100, 50);
    let before = context.request.query("after").and_then(|id| id.parse().ok()).map(BatchId);
    let open = requested::is_open(&context.request)?;
    let query = if open { BatchQuery::all().open() } else { BatchQuery::all() };
    let found = context.admin().batches(query, before, limit).await?;
    let full = found.len() == limit as usize;
    let state = if open { "&state=open" } else { "" };
    let path = |last: &BatchSummary| {
        context.link(&format!("/api/v1/batches?limit={limit}{state}&after={}", last.id))
    };
    let next = found.last().filter(|_| full).map(path);
    let items: Vec<_> = found.iter().map(batches::batch).collect();
    Ok(answer(json!({"items": items, "next": next})))
}

pub(crate) async fn show(context: &Context) -> Answer {
    let id = BatchId(context.request.id()?);
    let batch = context.admin().batch(id).get().await?.ok_or(Failure::NotFound)?;
    Ok(answer(batches::detail(&batch)))
}

/// Its members, in the order of their ids.
pub(crate) async fn members(context: &Context) -> Answer {
    let (admin, id) = (context.admin(), BatchId(context.request.id()?));
    let which = requested::members(&context.request)?.unwrap_or(Members::All);
    let limit = context.request.clamped("limit", 1, 500, 50);
    let after = context.request.query("after").and_then(|id| id.parse().ok()).map(JobId);
    let batch = admin.batch(id);
    let (known, found) = tokio::try_join!(batch.get(), batch.members(which, after, limit))?;
    known.ok_or(Failure::NotFound)?;
    let full = found.len() == limit as usize;
    let path = |last: &JobSummary| {
        let of = format!("limit={limit}&only={}&after={}", which.as_str(), last.id);
        context.link(&format!("/api/v1/batches/{id}/members?{of}"))
    };
    let next = found.last().filter(|_| full).map(path);
    let items: Vec<_> = found.iter().map(values::job_summary).collect();
    Ok(answer(json!({"items": items, "next": next})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    #[serde(default)]
    reason: String,
}

/// Cancels what has not ended of it, and returns the operation that does so.
pub(crate) async fn cancel(context: &Context) -> Answer {
    let id = BatchId(context.request.id()?);
    requested::may_cancel(&context.access)?;
    let Reason { reason } = body(context)?;
    let admin = context.admin();
    match admin.batch(id).cancel(requested::reason(&reason)?).await? {
        BatchCancelled::By(operation) => {
            let operation = admin.operation(operation).get().await?.ok_or(Failure::NotFound)?;
            Ok(answer(values::operation(&operation)))
        }
        _ => Err(requested::ended(&admin, id).await?),
    }
}
