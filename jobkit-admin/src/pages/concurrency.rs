//! Concurrency keys and groups.

use askama::Template;
use jobkit::admin::limits::{Limit, LimitFilter};
use jobkit::admin::semaphores::{Semaphore, SemaphoreFilter};

use crate::context::Context;
use crate::failure::Answer;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "concurrency.html")]
struct Concurrency<'a> {
    frame: Frame<'a>,
    groups: Vec<Limit>,
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

pub(crate) async fn list(context: &Context) -> Answer {
    let (group, only) =
        (context.request.query("group"), context.request.query("only").unwrap_or("all"));
    let mut filter = SemaphoreFilter::all();
    if let Some(group) = group {
        filter = filter.group(group);
    }
    filter = match only {
        "limit" => filter.at_limit(),
        "blocked" => filter.blocked(),
        _ => filter,
    };
    let after = context
        .request
        .query("after_group")
        .zip(Some(context.request.query("after_key").unwrap_or("")));
    let admin = context.admin();
    let of_groups = LimitFilter::all().of(&["group", "limiter"]);
    let (groups, mut semaphores) =
        tokio::try_join!(admin.limits(&of_groups), admin.semaphores(&filter, after, PAGE + 1))?;
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
    let frame = Frame::of(context, "Concurrency");
    Ok(html(&Concurrency { frame, groups, semaphores, group, only, next }))
}
