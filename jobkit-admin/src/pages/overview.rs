//! The overview.

use std::sync::Arc;

use askama::Template;
use jobkit::admin::dead_letters::DeadLetterGroup;
use jobkit::admin::measures::MeasureFilter;
use jobkit::admin::overview::{Attention, Overview};

use crate::context::Context;
use crate::failure::Answer;
use crate::format::show;
use crate::render::charts::Charts;
use crate::render::frame::Frame;
use crate::render::html;

#[derive(Template)]
#[template(path = "overview.html")]
struct Page<'a> {
    frame: Frame<'a>,
    now: Arc<Overview>,
    groups: Vec<DeadLetterGroup>,
    charts: Charts,
    /// The address of this page, up to its range.
    here: &'static str,
}

impl Page<'_> {
    /// Whether jobs wait and no worker can run them.
    fn idle(&self) -> bool {
        let here = |item: &Attention| matches!(item, Attention::NoWorker { .. });
        self.now.attention.iter().any(here)
    }

    /// The label of an item that needs attention, and the page with details. Its severity decides
    /// how it looks.
    fn shown(&self, item: &Attention) -> (&'static str, String) {
        let (url, to) = (show::url, str::to_owned);
        match item {
            Attention::NoWorker { .. } => ("no worker", to("/workers")),
            Attention::StandbyAwaited { .. } => ("standby", to("/system")),
            Attention::LateWorker(worker) => {
                ("late", format!("/workers/{}", show::worker(&worker.id)))
            }
            Attention::Unserved { queue, kind, .. } => {
                let words = [show::qualifier("kind", kind), show::qualifier("queue", queue)];
                ("unserved", format!("/jobs?q={}", words.join("%20")))
            }
            Attention::LateQueue { queue, .. } => {
                ("late", format!("/jobs?state=ready&q={}", show::qualifier("queue", queue)))
            }
            Attention::FullQueue { .. } => ("full", to("/queues")),
            Attention::LostWorker { id, .. } => ("lost", format!("/workers/{}", show::worker(id))),
            Attention::StuckJob(stuck) => ("stuck", format!("/jobs/{}", stuck.job)),
            Attention::LongRun { job, .. } => ("long run", format!("/jobs/{job}")),
            Attention::StuckOperation { operation, .. } => {
                ("stuck", format!("/operations/{operation}"))
            }
            Attention::UnclosedBatch { batch, .. } => ("open", format!("/batches/{batch}")),
            Attention::HeldKey { group, key, .. } | Attention::PausedKey { group, key, .. } => {
                let paused = matches!(item, Attention::PausedKey { .. });
                let word = if paused { "paused" } else { "blocked" };
                (word, format!("/concurrency/key?group={}&key={}", url(group), url(key)))
            }
            Attention::OverdueSchedule(it) => ("overdue", schedule(&it.name)),
            Attention::PausedSchedule(it) => ("paused", schedule(&it.name)),
            Attention::DeadLetters { .. } => ("dead", to("/dead")),
            Attention::PausedQueue { .. } => ("paused", to("/queues")),
            Attention::PausedScope { .. } => ("paused", to("/kinds")),
            _ => ("look", to("/")),
        }
    }
}

fn schedule(name: &str) -> String {
    format!("/schedules/schedule?name={}", show::url(name))
}

pub(crate) async fn show(context: &Context) -> Answer {
    let admin = context.admin();
    let overview = context.shared.overview.get(admin.overview());
    let charts = Charts::of(context, MeasureFilter::all());
    let overview = async { Ok(overview.await?) };
    let groups = async { Ok(admin.dead_letter_groups(5).await?) };
    let (now, groups, charts) = tokio::try_join!(overview, groups, charts)?;
    let title = match now.attention.len() {
        0 => "Overview".to_owned(),
        number => format!("({number}) Overview"),
    };
    Ok(html(&Page { frame: Frame::of(context, &title), now, groups, charts, here: "/?" }))
}
