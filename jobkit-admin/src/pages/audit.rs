//! The audit log.

use askama::Template;
use jobkit::admin::audit::AuditEntry;

use crate::context::Context;
use crate::failure::Answer;
use crate::format::payload;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::request::audit::{FIELDS, filter, next};

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "audit.html")]
struct Audit<'a> {
    frame: Frame<'a>,
    entries: Vec<AuditEntry>,
    next: Option<String>,
}

impl<'a> Audit<'a> {
    /// The details of an action, and the payload that was removed or replayed.
    fn detail(&self, entry: &AuditEntry) -> String {
        let args = entry.args.as_ref();
        let args = args.map(|args| payload::shown(args, self.frame.context.redaction()));
        let detail = payload::circumstances(&entry.detail);
        args.map_or(detail.clone(), |args| format!("{detail}\nargs: {args}"))
    }

    /// A summary of the details.
    fn brief(&self, entry: &AuditEntry) -> String {
        let text = |name: &str| entry.detail.get(name)?.as_str().map(str::to_owned);
        let done = entry.detail.get("done").and_then(serde_json::Value::as_u64);
        let parts = [
            text("verb").map(|verb| show::words(&verb)),
            done.map(|done| format!("{} done", show::large(&done))),
            text("reason"),
        ];
        let parts: Vec<String> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "show".to_owned() } else { parts.join(" · ") }
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str, &'a str)> {
        let context = self.frame.context;
        let field = move |(name, label)| (name, label, context.request.query(name).unwrap_or(""));
        FIELDS.into_iter().map(field)
    }

    fn is_filtered(&self) -> bool {
        self.fields().any(|(.., value)| !value.is_empty())
    }

    /// The page of an entry's subject.
    fn link(&self, entry: &AuditEntry) -> Option<String> {
        let path = match (entry.subject.as_str(), entry.subject_id) {
            ("job", Some(id)) => format!("/jobs/{id}"),
            ("dead_letter", Some(id)) => format!("/dead/{id}"),
            ("worker", Some(id)) => format!("/workers/{}", show::worker(&id)),
            ("operation", Some(id)) => format!("/operations/{id}"),
            ("queue", _) => "/queues".to_owned(),
            _ => return None,
        };
        Some(self.frame.context.link(&path))
    }
}

pub(crate) async fn list(context: &Context) -> Answer {
    let after = context.request.query("after").and_then(|id| id.parse().ok());
    let page = context.admin().audit(&filter(&context.request), after, PAGE).await?;
    let next = page.next.map(|after| format!("/audit?{}", next(&context.request, after)));
    Ok(html(&Audit { frame: Frame::of(context, "Audit"), entries: page.entries, next }))
}
