//! Who did what.

use askama::Template;
use jobkit::AuditEntry;

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "audit.html")]
struct Audit<'a> {
    frame: Frame<'a>,
    entries: Vec<AuditEntry>,
    next: Option<i64>,
}

impl Audit<'_> {
    /// What is known of an act. Payloads of what was removed are in there, too.
    fn detail(&self, entry: &AuditEntry) -> String {
        show::json(&entry.detail, self.frame.visit.redaction())
    }
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let after = visit.query("after").and_then(|id| id.parse().ok());
    let mut entries = visit.admin().audit(after, PAGE + 1).await?;
    let more = entries.len() > PAGE as usize;
    entries.truncate(PAGE as usize);
    let next = entries.last().filter(|_| more).map(|entry| entry.id);
    Ok(html(&Audit { frame: visit.frame("Audit"), entries, next }))
}
