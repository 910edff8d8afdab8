//! Concurrency keys: who is at their limit.

use askama::Template;
use jobkit::admin::semaphores::{ConcurrencyGroup, Limited, Semaphore, SemaphoreFilter};

use crate::failure::{Failure, html};
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "concurrency.html")]
struct Concurrency<'a> {
    frame: Frame<'a>,
    groups: Vec<ConcurrencyGroup>,
    semaphores: Vec<Semaphore>,
    group: Option<&'a str>,
    only: &'a str,
    next: Option<String>,
}

impl Concurrency<'_> {
    fn tabs(&self) -> [(&'static str, &'static str, bool); 3] {
        let tab = |(name, label)| (name, label, self.only == name);
        [("all", "All"), ("limit", "At their limit"), ("blocked", "With blocked jobs")].map(tab)
    }

    fn is_group(&self, name: &str) -> bool {
        self.group == Some(name)
    }
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let (group, only) = (visit.query("group"), visit.query("only").unwrap_or("all"));
    let mut filter = SemaphoreFilter::all();
    if let Some(group) = group {
        filter = filter.group(group);
    }
    filter = match only {
        "limit" => filter.at_limit(),
        "blocked" => filter.blocked(),
        _ => filter,
    };
    let after = visit.query("after_group").zip(Some(visit.query("after_key").unwrap_or("")));
    let admin = visit.admin();
    let (groups, mut semaphores) =
        tokio::try_join!(admin.groups(), admin.semaphores(&filter, after, PAGE + 1))?;
    let more = semaphores.len() > PAGE as usize;
    semaphores.truncate(PAGE as usize);
    let next = semaphores.last().filter(|_| more).map(|last| {
        let group = group.map(|group| format!("&group={}", show::url(group))).unwrap_or_default();
        let (after_group, after_key) = (show::url(&last.group), show::url(&last.key));
        format!(
            "/concurrency?only={}{group}&after_group={after_group}&after_key={after_key}",
            show::url(only)
        )
    });
    let frame = visit.frame("Concurrency");
    Ok(html(&Concurrency { frame, groups, semaphores, group, only, next }))
}

pub(crate) async fn limit_group(visit: &Visit) -> Answer {
    let (group, limit) = (visit.must("group")?, visit.parsed("limit")?);
    said(visit.admin().limit_group(group, limit).await?)?;
    visit.redirect("/concurrency", &limit_text(group, limit))
}

/// What a limit is now, in words.
pub(super) fn limit_text(what: &str, limit: Option<u32>) -> String {
    match limit {
        Some(0) => format!("{what} is stopped: its limit is 0."),
        Some(limit) => format!("The limit of {what} is {}.", show::number(limit)),
        None => format!("The limit of {what} is its default again."),
    }
}

pub(crate) fn said(limited: Limited) -> Result<(), Failure> {
    match limited {
        Limited::UnknownGroup => {
            Err(Failure::Invalid("No worker has announced this group.".into()))
        }
        _ => Ok(()),
    }
}
