//! What is limited or paused, and the forms of all pages that change that.

use std::time::Duration;

use askama::Template;
use jobkit::admin::limits::{Limit, LimitFilter, Said, Scope};

use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::change::Parts;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::request::limits;

#[derive(Template)]
#[template(path = "limits.html")]
struct Limits<'a> {
    frame: Frame<'a>,
    limits: Vec<Limit>,
    /// Whether only what is paused is listed.
    paused: bool,
}

/// A part of a limit in words, and who set it.
struct Part {
    text: String,
    by: &'static str,
}

impl Limits<'_> {
    fn parts(&self, limit: &Limit) -> Vec<Part> {
        fn part<T>(said: Option<Said<T>>, text: impl Fn(T) -> String, none: &str) -> Option<Part> {
            let Said { value, by, .. } = said?;
            let text = value.map_or_else(|| none.to_owned(), text);
            Some(Part { text, by: by.as_str() })
        }
        let each = if limit.scope.word() == "group" { " per key" } else { "" };
        let running = |most: u32| match most {
            0 => format!("none{each} may start"),
            most => format!("{}{each} at a time", show::number(most)),
        };
        let waiting = |most: u32| format!("{} may wait", show::number(most));
        let parts = [
            part(limit.running, running, "any number at a time"),
            part(limit.rate, |rate| rate.to_string(), "no rate"),
            part(limit.waiting, waiting, "any number may wait"),
        ];
        parts.into_iter().flatten().collect()
    }

    fn link(&self, limit: &Limit) -> Option<String> {
        page(&limit.scope)
    }

    fn has(&self, scope: &str, part: &str) -> bool {
        match part {
            "running" => scope != "limiter",
            _ => scope == "queue",
        }
    }
}

/// The page that shows it.
fn page(scope: &Scope) -> Option<String> {
    let name = show::url(scope.name());
    match scope {
        Scope::Queue(_) => Some(format!("/queues/queue?queue={name}")),
        Scope::Kind(_) => Some(format!("/kinds/kind?kind={name}")),
        Scope::Group(_) | Scope::Limiter(_) => Some(format!("/concurrency?group={name}")),
        Scope::Key { key, .. } => {
            Some(format!("/concurrency/key?group={name}&key={}", show::url(key)))
        }
        _ => None,
    }
}

pub(crate) async fn list(context: &Context) -> Answer {
    let paused = context.request.query("only") == Some("paused");
    let filter = LimitFilter::all();
    let filter = if paused { filter.paused() } else { filter };
    let limits = context.admin().limits(&filter).await?;
    Ok(html(&Limits { frame: Frame::of(context, "Limits"), limits, paused }))
}

fn scope(context: &Context) -> Result<Scope, Failure> {
    let (word, name) = (context.request.must("scope")?, context.request.field("name"));
    let key = if word == "key" { Some(context.request.must("key")?) } else { None };
    limits::scope(word, name.unwrap_or(""), key)
}

/// Redirects to the list that shows it, unless the form came from elsewhere.
fn back(context: &Context, scope: &Scope, now: &str) -> Answer {
    let page = match scope {
        Scope::Queue(_) => "/queues".to_owned(),
        Scope::Kind(_) | Scope::All => "/kinds".to_owned(),
        Scope::Group(_) | Scope::Limiter(_) => "/concurrency".to_owned(),
        scope => page(scope).unwrap_or_else(|| "/limits".to_owned()),
    };
    context.redirect(&page, &show::capital(&format!("{scope} {now}")))
}

pub(crate) async fn set(context: &Context) -> Answer {
    let (scope, request) = (scope(context)?, &context.request);
    let parts = Parts {
        running: request.field("running").map(limits::number).transpose()?,
        rate: request.field("rate").map(limits::rate).transpose()?,
        burst: request.parsed("burst")?,
        waiting: request.field("waiting").map(limits::number).transpose()?,
    };
    let admin = context.admin();
    let handle = admin.limit(scope.clone());
    limits::known(handle.set(&limits::change(&parts)?).await?, &scope)?;
    let now = handle.get().await?.map(|limit| limit.to_string());
    let now = now.filter(|now| !now.is_empty()).unwrap_or_else(|| "no limit".to_owned());
    back(context, &scope, &format!("is set: {now}."))
}

pub(crate) async fn pause(context: &Context) -> Answer {
    let (scope, request) = (scope(context)?, &context.request);
    let reason = request.field("reason").unwrap_or("");
    let admin = context.admin();
    let handle = admin.limit(scope.clone());
    if scope.key().is_some() {
        let minutes: Option<u32> = request.parsed("minutes")?;
        let time = Duration::from_secs(60) * minutes.unwrap_or(0);
        limits::known(handle.pause_for(time, reason).await?, &scope)?;
    } else {
        handle.pause(reason).await?;
    }
    back(context, &scope, "is paused: no new job starts.")
}

pub(crate) async fn resume(context: &Context) -> Answer {
    let scope = scope(context)?;
    let resumed = context.admin().limit(scope.clone()).resume().await?;
    back(context, &scope, if resumed { "is resumed." } else { "was not paused." })
}
