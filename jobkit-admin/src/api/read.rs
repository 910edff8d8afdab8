//! What is there.

use jobkit::JobId;
use jobkit::admin::dead_letters::DeadLetterId;
use jobkit::admin::semaphores::SemaphoreFilter;
use serde_json::json;

use super::{answer, values};
use crate::failure::Failure;
use crate::pages::audit;
use crate::pages::dead_letters::{Asked, cursor, next};
use crate::pages::jobs::asked;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

pub(super) async fn overview(visit: &Visit) -> Answer {
    let now = visit.shared.overview.get(visit.admin().overview()).await?;
    Ok(answer(values::overview(&now)))
}

pub(super) async fn queues(visit: &Visit) -> Answer {
    let queues = visit.admin().queues().await?;
    Ok(answer(json!({"items": queues.iter().map(values::queue).collect::<Vec<_>>()})))
}

pub(super) async fn kinds(visit: &Visit) -> Answer {
    let kinds = visit.admin().kinds().await?;
    let item = |kind: &jobkit::admin::kinds::KindSummary| {
        json!({
            "kind": kind.kind,
            "queue": kind.queue,
            "priority": kind.priority,
            "max_attempts": kind.max_attempts,
            "workers": kind.workers,
            "announced_at": show::iso(&kind.announced_at),
            "lately": values::measures(&kind.lately),
        })
    };
    Ok(answer(json!({"items": kinds.iter().map(item).collect::<Vec<_>>()})))
}

pub(super) async fn workers(visit: &Visit) -> Answer {
    let workers = visit.admin().workers().await?;
    Ok(answer(json!({"items": workers.iter().map(values::of_worker).collect::<Vec<_>>()})))
}

pub(super) async fn groups(visit: &Visit) -> Answer {
    let groups = visit.admin().groups().await?;
    Ok(answer(json!({"items": groups.iter().map(values::group).collect::<Vec<_>>()})))
}

pub(super) async fn semaphores(visit: &Visit) -> Answer {
    let limit = visit.clamped("limit", 1, 500, 50);
    let mut filter = SemaphoreFilter::all();
    if let Some(group) = visit.query("group") {
        filter = filter.group(group);
    }
    let after = visit.query("after_group").zip(Some(visit.query("after_key").unwrap_or("")));
    let found = visit.admin().semaphores(&filter, after, limit).await?;
    let full = found.len() == limit as usize;
    let next = found.last().filter(|_| full).map(|last| {
        let group = visit.query("group").map(|group| format!("&group={}", show::url(group)));
        let (group, after) = (group.unwrap_or_default(), show::url(&last.group));
        let key = show::url(&last.key);
        let query = format!("limit={limit}{group}&after_group={after}&after_key={key}");
        visit.link(&format!("/api/v1/semaphores?{query}"))
    });
    let items: Vec<_> = found.iter().map(values::semaphore).collect();
    Ok(answer(json!({"items": items, "next": next})))
}

pub(super) async fn job(visit: &Visit) -> Answer {
    let (admin, id) = (visit.admin(), JobId(visit.id()?));
    let (job, explanation) = tokio::try_join!(admin.job(id), admin.explain(id))?;
    let job = job.ok_or(Failure::NotFound)?;
    let why = explanation.map(|explanation| explanation.sentence);
    Ok(answer(values::job(&job, why, visit.redaction())))
}

pub(super) async fn jobs(visit: &Visit) -> Answer {
    let query = asked(visit).map_err(Failure::Invalid)?;
    let limit = visit.clamped("limit", 1, 500, 50);
    let after = visit.query("after").and_then(|cursor| cursor.parse().ok());
    let page = visit.admin().jobs(&query, after, limit).await?;
    let items: Vec<_> = page.jobs.iter().map(values::job_summary).collect();
    let next = page.next.map(|next| {
        let (listing, next) = (query.listing.as_str(), show::url(&next.to_string()));
        let words = show::url(visit.query("q").unwrap_or(""));
        visit.link(&format!("/api/v1/jobs?limit={limit}&state={listing}&q={words}&after={next}"))
    });
    Ok(answer(json!({"items": items, "next": next, "gave_up_after": page.gave_up_after})))
}

pub(super) async fn dead_letters(visit: &Visit) -> Answer {
    let asked = Asked::of(|name| visit.query(name));
    let limit = visit.clamped("limit", 1, 500, 50);
    let page = visit.admin().dead_letters(&asked.filter(), cursor(visit), limit).await?;
    let items: Vec<_> = page.entries.iter().map(values::dead_letter_summary).collect();
    let path = |query| format!("/api/v1/dead-letters?limit={limit}&{query}");
    let next = page.next.map(|page| visit.link(&path(next(&asked, page))));
    Ok(answer(json!({"items": items, "next": next})))
}

pub(super) async fn dead_letter_groups(visit: &Visit) -> Answer {
    let groups = visit.admin().dead_letter_groups(visit.clamped("limit", 1, 100, 50)).await?;
    Ok(answer(json!({"items": groups.iter().map(values::dead_letter_group).collect::<Vec<_>>()})))
}

pub(super) async fn dead_letter(visit: &Visit) -> Answer {
    let id = DeadLetterId(visit.id()?);
    let letter = visit.admin().dead_letter(id).await?.ok_or(Failure::NotFound)?;
    Ok(answer(values::dead_letter(&letter, visit.redaction())))
}

pub(super) async fn audit(visit: &Visit) -> Answer {
    let limit = visit.clamped("limit", 1, 500, 50);
    let after = visit.query("after").and_then(|id| id.parse().ok());
    let page = visit.admin().audit(&audit::filter(visit), after, limit).await?;
    let path = |after| format!("/api/v1/audit?limit={limit}&{}", audit::next(visit, after));
    let next = page.next.map(|after| visit.link(&path(after)));
    let entry = |entry| values::audit_entry(visit, entry);
    let items: Vec<_> = page.entries.iter().map(entry).collect();
    Ok(answer(json!({"items": items, "next": next})))
}
