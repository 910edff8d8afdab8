//! Bulk actions, as pages and programs request them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use jobkit::JobId;
use jobkit::admin::Count;
use jobkit::admin::dead_letters::{DeadLetterId, DeadLetterState};
use jobkit::admin::jobs::{JobQuery, Listing};
use jobkit::admin::operations::{BulkAction, Selected};
use serde::Deserialize;

use super::dead_letters::DeadLetterQuery;
use super::fields::Fields;
use super::jobs;
use super::time::time;
use crate::access::{Access, Permission};
use crate::failure::Failure;
use crate::format::{invisible, show};

/// The fields of pages and forms that say what matches, except the rows.
pub(crate) const FIELDS: [&str; 10] =
    ["verb", "only", "state", "q", "kind", "queue", "key", "tag", "fingerprint", "days"];

/// The targets: those named in `ids`, or everything that matches the other fields.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BulkRequest {
    verb: String,
    state: Option<String>,
    q: Option<String>,
    kind: Option<String>,
    queue: Option<String>,
    key: Option<String>,
    tag: Option<String>,
    fingerprint: Option<String>,
    reason: Option<String>,
    /// Of a purge.
    days: Option<u32>,
    /// Of a reschedule.
    at: Option<String>,
    ids: Option<Vec<String>>,
    /// The [name](Self::name) of what matches, as confirmation if the count is unknown.
    pub(crate) confirm: Option<String>,
    pub(crate) idempotency_key: Option<String>,
}

impl BulkRequest {
    /// The action that a query or a form requests.
    pub(crate) fn of(request: &Fields) -> Self {
        let text = |name| request.query(name).or_else(|| request.field(name)).map(str::to_owned);
        // An action on selected rows with none selected does not mean all rows.
        let rows = text("only").is_some_and(|only| only == "rows");
        Self {
            verb: text("verb").unwrap_or_default(),
            state: text("state"),
            q: text("q"),
            kind: text("kind"),
            queue: text("queue"),
            key: text("key"),
            tag: text("tag"),
            fingerprint: text("fingerprint"),
            reason: text("reason"),
            days: text("days").and_then(|days| days.parse().ok()),
            at: None,
            ids: rows.then(|| request.rows().into_iter().map(str::to_owned).collect()),
            confirm: text("typed"),
            idempotency_key: text("idempotency_key"),
        }
    }

    /// How many rows were selected.
    pub(crate) fn selected(&self) -> Option<usize> {
        self.ids.as_ref().map(Vec::len)
    }

    /// The action, if this visitor has its permission as well as that for bulk actions.
    pub(crate) fn action(&self, access: &Access) -> Result<BulkAction, Failure> {
        let permission = match &*self.verb {
            "cancel" => Permission::Cancel,
            "discard" | "discard_dead_letters" => Permission::Discard,
            "reschedule" => Permission::Reschedule,
            "replay" => Permission::Replay,
            "purge" => Permission::Purge,
            _ => return Err(Failure::Invalid("Unknown action.".into())),
        };
        if !access.may(permission) {
            return Err(Failure::NotFound);
        }
        self.check()?;
        match self.ids {
            Some(ref ids) => self.with_selected(ids).map(BulkAction::Selected),
            None => self.with_all(access),
        }
    }

    pub(crate) fn is_about_jobs(&self) -> bool {
        matches!(&*self.verb, "cancel" | "discard" | "reschedule")
    }

    /// Refuses fields that the action would ignore, since more would match than the form says.
    fn check(&self) -> Result<(), Failure> {
        let known: &[&str] = match (&self.ids, self.is_about_jobs()) {
            (Some(_), _) => &[],
            (None, true) => &["state", "q"],
            (None, false) => &["state", "kind", "queue", "key", "tag", "fingerprint"],
        };
        let all = ["state", "q", "kind", "queue", "key", "tag", "fingerprint"];
        if let Some(name) =
            all.iter().find(|name| self.text(name).is_some() && !known.contains(name))
        {
            return Err(Failure::Invalid(format!("“{name}” does not apply here.")));
        }
        let Some(state) = self.text("state") else { return Ok(()) };
        let is_state = match self.is_about_jobs() {
            true => Listing::ALL.iter().any(|listing| listing.as_str() == state),
            false => ["open", "replaying", "resolved"].contains(&state),
        };
        match is_state {
            true => Ok(()),
            false => Err(Failure::Invalid(format!("“{state}” is not a state for this action."))),
        }
    }

    /// Whether a reason is required: the action cannot be undone.
    pub(crate) fn needs_reason(&self) -> bool {
        !matches!(&*self.verb, "replay" | "reschedule")
    }

    pub(crate) fn reason(&self) -> Result<&str, Failure> {
        let reason = self.reason.as_deref().unwrap_or("").trim();
        if reason.is_empty() && self.needs_reason() {
            return Err(Failure::Invalid("“reason” is missing.".into()));
        }
        Ok(reason)
    }

    /// A name for what matches: the kind, the queue, or the words of the filter. It confirms an
    /// action if the count is unknown.
    pub(crate) fn name(&self, access: &Access) -> Result<String, Failure> {
        let name = if self.is_about_jobs() {
            name_of_jobs(&self.query(access)?)
        } else {
            name_of_dead_letters(&DeadLetterQuery::of(|name| self.text(name)))
        };
        // Invisible characters cannot be typed.
        let seen = !name.chars().any(invisible::is_invisible);
        Ok(if seen { name } else { "all of these".to_owned() })
    }

    /// Whether the name was typed, which is required if the count is unknown.
    pub(crate) fn is_confirmed_by_name(
        &self,
        access: &Access,
        count: Count,
    ) -> Result<bool, Failure> {
        let more = matches!(count, Count::AtLeast(_));
        if self.ids.is_some() {
            return Ok(false);
        }
        let name = self.name(access)?;
        let confirmed =
            self.confirm.as_deref().is_some_and(|name_typed| name_typed.trim() == name.trim());
        if more && !confirmed {
            let many = show::matching(&count);
            let text = format!("{many} match. Confirm with “{name}”.");
            return Err(Failure::Invalid(text));
        }
        Ok(confirmed)
    }

    fn query(&self, access: &Access) -> Result<JobQuery, Failure> {
        let words = self.q.as_deref().unwrap_or("");
        jobs::query(access, words, self.state.as_deref()).map_err(Failure::Invalid)
    }

    fn at(&self) -> Result<Option<DateTime<Utc>>, Failure> {
        self.at.as_deref().map(time).transpose()
    }

    fn with_all(&self, access: &Access) -> Result<BulkAction, Failure> {
        let dead = DeadLetterQuery::of(|name| self.text(name)).filter();
        Ok(match &*self.verb {
            "cancel" => BulkAction::Cancel(self.query(access)?),
            "discard" => BulkAction::Discard(self.query(access)?),
            "reschedule" => BulkAction::Reschedule(self.query(access)?, self.at()?),
            "replay" => BulkAction::Replay(dead),
            "purge" => {
                let days = u64::from(self.days.unwrap_or(30).min(36_500));
                BulkAction::Purge(dead, Duration::from_secs(days * 24 * 60 * 60))
            }
            _ => BulkAction::DiscardDeadLetters(dead),
        })
    }

    fn text(&self, name: &str) -> Option<&str> {
        let text = match name {
            "state" => &self.state,
            "q" => &self.q,
            "kind" => &self.kind,
            "queue" => &self.queue,
            "key" => &self.key,
            "tag" => &self.tag,
            "fingerprint" => &self.fingerprint,
            _ => return None,
        };
        text.as_deref().filter(|text| !text.is_empty())
    }

    fn with_selected(&self, ids: &[String]) -> Result<Selected, Failure> {
        let parse =
            |id: &String| id.parse().map_err(|_| Failure::Invalid("An id is a number.".into()));
        let ids: Vec<i64> = ids.iter().map(parse).collect::<Result<_, _>>()?;
        if ids.is_empty() {
            return Err(Failure::Invalid("No rows are selected.".into()));
        }
        let jobs = || ids.iter().copied().map(JobId).collect();
        let dead = || ids.iter().copied().map(DeadLetterId).collect();
        Ok(match &*self.verb {
            "cancel" => Selected::Cancel(jobs()),
            "discard" => Selected::Discard(jobs()),
            "reschedule" => Selected::Reschedule(jobs(), self.at()?),
            "replay" => Selected::Replay(dead()),
            "discard_dead_letters" => Selected::DiscardDeadLetters(dead()),
            _ => {
                let text = "A purge selects by age and cannot act on selected rows.";
                return Err(Failure::Invalid(text.into()));
            }
        })
    }
}

fn name_of_jobs(query: &JobQuery) -> String {
    let JobQuery { kind, queue, reveal, .. } = query.clone();
    let words = query.to_string();
    let only = |one: JobQuery| *query == JobQuery { reveal, ..one };
    match (kind, queue) {
        (Some(kind), None) if only(JobQuery { kind: Some(kind.clone()), ..Default::default() }) => {
            kind
        }
        (None, Some(queue))
            if only(JobQuery { queue: Some(queue.clone()), ..Default::default() }) =>
        {
            queue
        }
        _ if words.is_empty() => "all live jobs".to_owned(),
        _ => words,
    }
}

fn name_of_dead_letters(query: &DeadLetterQuery) -> String {
    match (&*query.texts, query.state) {
        ([], state) => format!("all {} dead letters", state.as_str()),
        ([(_, text)], DeadLetterState::Open) => text.clone(),
        (texts, state) => {
            let words = texts.iter().map(|(name, text)| format!(" {name}:{text}"));
            format!("state:{}{}", state.as_str(), words.collect::<String>())
        }
    }
}
