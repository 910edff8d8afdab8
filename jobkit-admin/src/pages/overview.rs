//! What is happening now.

use askama::Template;
use jobkit::{Count, DeadLetterFilter, DeadLetterGroup, PausedQueue, Semaphore, SemaphoreFilter};

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview<'a> {
    frame: Frame<'a>,
    dead: Count,
    paused: Vec<PausedQueue>,
    at_limit: Vec<Semaphore>,
    groups: Vec<DeadLetterGroup>,
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let admin = visit.admin();
    let waiting = SemaphoreFilter::all().at_limit().blocked();
    let all = DeadLetterFilter::all();
    let (dead, paused, at_limit, groups) = tokio::try_join!(
        admin.count_dead_letters(&all),
        admin.paused(),
        admin.semaphores(&waiting, None, 10),
        admin.dead_letter_groups(5),
    )?;
    Ok(html(&Overview { frame: visit.frame("Overview"), dead, paused, at_limit, groups }))
}
