//! Who did what.

use askama::Template;
use jobkit::admin::audit::{AuditEntry, AuditFilter};

use crate::failure::html;
use crate::frame::Frame;
use crate::payload;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

const PAGE: u32 = 50;

/// The fields of the filter, with their labels.
const FIELDS: [(&str, &str); 5] = [
    ("actor", "Who"),
    ("action", "What"),
    ("subject", "To a"),
    ("id", "with id"),
    ("name", "named"),
];

#[derive(Template)]
#[template(path = "audit.html")]
struct Audit<'a> {
    frame: Frame<'a>,
    entries: Vec<AuditEntry>,
    next: Option<String>,
}

impl<'a> Audit<'a> {
    /// What is known of an act, and the payload of what was removed or replayed.
    fn detail(&self, entry: &AuditEntry) -> String {
        let args = entry.args.as_ref();
        let args = args.map(|args| payload::shown(args, self.frame.visit.redaction()));
        let detail = payload::circumstances(&entry.detail);
        args.map_or(detail.clone(), |args| format!("{detail}\nargs: {args}"))
    }

    /// The same in a few words, where there are some.
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
        let visit = self.frame.visit;
        let field = move |(name, label)| (name, label, visit.query(name).unwrap_or(""));
        FIELDS.into_iter().map(field)
    }

    fn is_filtered(&self) -> bool {
        self.fields().any(|(.., value)| !value.is_empty())
    }

    /// Where the subject of an entry is shown.
    fn link(&self, entry: &AuditEntry) -> Option<String> {
        let path = match (entry.subject.as_str(), entry.subject_id) {
            ("job", Some(id)) => format!("/jobs/{id}"),
            ("dead_letter", Some(id)) => format!("/dead/{id}"),
            ("worker", Some(id)) => format!("/workers/{}", show::worker(&id)),
            ("operation", Some(id)) => format!("/operations/{id}"),
            ("queue", _) => "/queues".to_owned(),
            _ => return None,
        };
        Some(self.frame.visit.link(&path))
    }
}

/// The filter that the query says.
pub(crate) fn filter(visit: &Visit) -> AuditFilter {
    FIELDS.iter().fold(AuditFilter::all(), |filter, (name, _)| match (*name, visit.query(name)) {
        ("actor", Some(actor)) => filter.actor(actor),
        ("action", Some(action)) => filter.action(action),
        ("subject", Some(subject)) => filter.subject(subject),
        ("id", Some(id)) => id.parse().map_or(filter.clone(), |id| filter.id(id)),
        ("name", Some(name)) => filter.name(name),
        _ => filter,
    })
}

/// The query of the page after this entry.
pub(crate) fn next(visit: &Visit, after: i64) -> String {
    let field = |(name, _): (&str, _)| {
        visit.query(name).map(|value| format!("&{name}={}", show::url(value)))
    };
    let fields: String = FIELDS.into_iter().filter_map(field).collect();
    format!("after={after}{fields}")
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let after = visit.query("after").and_then(|id| id.parse().ok());
    let page = visit.admin().audit(&filter(visit), after, PAGE).await?;
    let next = page.next.map(|after| format!("/audit?{}", next(visit, after)));
    Ok(html(&Audit { frame: visit.frame("Audit"), entries: page.entries, next }))
}
