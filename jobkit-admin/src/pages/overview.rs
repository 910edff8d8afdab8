//! What is happening now.

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
    /// Where this page is, up to its range.
    here: &'static str,
}

impl Page<'_> {
    /// Whether jobs wait, and no worker can run any.
    fn idle(&self) -> bool {
        let here = |item: &Attention| matches!(item, Attention::NoWorker { .. });
        self.now.attention.iter().any(here)
    }

    /// How something that needs attention is marked, and the page that tells more.
    fn shown(&self, item: &Attention) -> (&'static str, &'static str, String) {
        let (url, to) = (show::url, str::to_owned);
        match item {
            Attention::NoWorker { .. } => ("failed", "no worker", to("/workers")),
            Attention::LateWorker(worker) => {
                ("failed", "late", format!("/workers/{}", show::worker(&worker.id)))
            }
            Attention::Unserved { queue, kind, .. } => {
                let words = [show::qualifier("kind", kind), show::qualifier("queue", queue)];
                ("failed", "unserved", format!("/jobs?q={}", words.join("%20")))
            }
            Attention::LateQueue { queue, .. } => {
                let queue = show::qualifier("queue", queue);
                ("failed", "late", format!("/jobs?state=ready&q={queue}"))
            }
            Attention::FullQueue { .. } => ("failed", "full", to("/queues")),
            Attention::LostWorker { .. } => ("failed", "lost", to("/workers")),
            Attention::StuckJob(stuck) => ("failed", "stuck", format!("/jobs/{}", stuck.job)),
            Attention::StuckOperation { operation, .. } => {
                ("failed", "stuck", format!("/operations/{operation}"))
            }
            Attention::KeyAtLimit { group, key, .. } => (
                "blocked",
                "blocked",
                format!("/concurrency/key?group={}&key={}", url(group), url(key)),
            ),
            Attention::OverdueSchedule(_) => ("failed", "overdue", to("/schedules")),
            Attention::DeadLetters { .. } => ("dead", "dead", to("/dead")),
            Attention::PausedQueue { .. } => ("paused", "paused", to("/queues")),
            Attention::PausedScope(_) => ("paused", "paused", to("/kinds")),
            _ => ("failed", "look", to("/")),
        }
    }
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
