//! Reading.

use jobkit::JobId;
use jobkit::admin::dead_letters::DeadLetterId;
use jobkit::admin::semaphores::SemaphoreFilter;
use serde_json::json;

use super::json::answer;
use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::values;
use crate::format::{overview, show};
use crate::request::audit;
use crate::request::dead_letters::{DeadLetterQuery, cursor, next};
use crate::request::jobs::list_query;

pub(crate) async fn overview(context: &Context) -> Answer {
    let now = context.shared.overview.get(context.admin().overview()).await?;
    Ok(answer(overview::json(&now)))
}

pub(crate) async fn queues(context: &Context) -> Answer {
    let queues = context.admin().queues().await?;
    Ok(answer(json!({"items": queues.iter().map(values::queue).collect::<Vec<_>>()})))
}

pub(crate) async fn kinds(context: &Context) -> Answer {
    let kinds = context.admin().kinds().await?;
    let item = |kind: &jobkit::admin::kinds::KindSummary| {
        json!({
            "kind": kind.kind,
            "queue": kind.queue,
            "priority": kind.priority,
            "max_attempts": kind.max_attempts,
            "expires": values::seconds(kind.expires),
            "retry_for": values::seconds(kind.retry_for),
            "retention": values::seconds(kind.retention),
            "retention_discarded": values::seconds(kind.retention_discarded),
            "workers": kind.workers,
            "announced_at": show::iso(&kind.announced_at),
            "lately": values::measures(&kind.lately),
        })
    };
    Ok(answer(json!({"items": kinds.iter().map(item).collect::<Vec<_>>()})))
}

pub(crate) async fn workers(context: &Context) -> Answer {
    let workers = context.admin().workers().await?;
    Ok(answer(json!({"items": workers.iter().map(values::of_worker).collect::<Vec<_>>()})))
}

pub(crate) async fn semaphores(context: &Context) -> Answer {
    let limit = context.request.clamped("limit", 1, 500, 50);
    let mut filter = SemaphoreFilter::all();
    if let Some(group) = context.request.query("group") {
        filter = filter.group(group);
    }
    let after = context
        .request
        .query("after_group")
        .zip(Some(context.request.query("after_key").unwrap_or("")));
    let found = context.admin().semaphores(&filter, after, limit).await?;
    let full = found.len() == limit as usize;
    let next = found.last().filter(|_| full).map(|last| {
        let group =
            context.request.query("group").map(|group| format!("&group={}", show::url(group)));
        let (group, after) = (group.unwrap_or_default(), show::url(&last.group));
        let key = show::url(&last.key);
        let query = format!("limit={limit}{group}&after_group={after}&after_key={key}");
        context.link(&format!("/api/v1/semaphores?{query}"))
    });
    let items: Vec<_> = found.iter().map(values::semaphore).collect();
    Ok(answer(json!({"items": items, "next": next})))
}

pub(crate) async fn job(context: &Context) -> Answer {
    let (admin, id) = (context.admin(), JobId(context.request.id()?));
    let job = admin.job(id);
    let (job, explanation) = tokio::try_join!(job.get(), job.explain())?;
    let job = job.ok_or(Failure::NotFound)?;
    Ok(answer(values::job(&job, explanation.as_ref(), context.redaction())))
}

pub(crate) async fn jobs(context: &Context) -> Answer {
    let query = list_query(&context.request, &context.access).map_err(Failure::Invalid)?;
    let limit = context.request.clamped("limit", 1, 500, 50);
    let after = context.request.query("after").and_then(|cursor| cursor.parse().ok());
    let page = context.admin().jobs(&query, after, limit).await?;
    let items: Vec<_> = page.jobs.iter().map(values::job_summary).collect();
    let next = page.next.map(|next| {
        let (listing, next) = (query.listing.as_str(), show::url(&next.to_string()));
        let words = show::url(context.request.query("q").unwrap_or(""));
        context.link(&format!("/api/v1/jobs?limit={limit}&state={listing}&q={words}&after={next}"))
    });
    let (gave_up_after, withheld) = (page.gave_up_after, page.withheld);
    Ok(answer(json!({
        "items": items, "next": next, "gave_up_after": gave_up_after, "withheld": withheld,
    })))
}

pub(crate) async fn dead_letters(context: &Context) -> Answer {
    let query = DeadLetterQuery::of(|name| context.request.query(name));
    let limit = context.request.clamped("limit", 1, 500, 50);
    let page =
        context.admin().dead_letters(&query.filter(), cursor(&context.request), limit).await?;
    let items: Vec<_> = page.entries.iter().map(values::dead_letter_summary).collect();
    let path = |query| format!("/api/v1/dead-letters?limit={limit}&{query}");
    let next = page.next.map(|page| context.link(&path(next(&query, page))));
    Ok(answer(json!({"items": items, "next": next})))
}

pub(crate) async fn dead_letter_groups(context: &Context) -> Answer {
    let groups =
        context.admin().dead_letter_groups(context.request.clamped("limit", 1, 100, 50)).await?;
    Ok(answer(json!({"items": groups.iter().map(values::dead_letter_group).collect::<Vec<_>>()})))
}

pub(crate) async fn dead_letter(context: &Context) -> Answer {
    let id = DeadLetterId(context.request.id()?);
    let letter = context.admin().dead_letter(id).get().await?.ok_or(Failure::NotFound)?;
    Ok(answer(values::dead_letter(&letter, context.redaction())))
}

pub(crate) async fn audit(context: &Context) -> Answer {
    let limit = context.request.clamped("limit", 1, 500, 50);
    let after = context.request.query("after").and_then(|id| id.parse().ok());
    let page = context.admin().audit(&audit::filter(&context.request), after, limit).await?;
    let path =
        |after| format!("/api/v1/audit?limit={limit}&{}", audit::next(&context.request, after));
    let next = page.next.map(|after| context.link(&path(after)));
    let entry = |entry| values::audit_entry(entry, context.redaction());
    let items: Vec<_> = page.entries.iter().map(entry).collect();
    Ok(answer(json!({"items": items, "next": next})))
}
