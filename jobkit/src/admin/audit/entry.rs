use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::admin::Payload;
use crate::limits;

/// Something that an operator did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AuditEntry {
    /// The number of the entry; numbers ascend, with gaps.
    pub id: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who, as they said; `None` when they did not.
    pub actor: Option<String>,
    /// What: `cancel`, `discard`, `reschedule`, `replay`, `purge`, `pause`, `resume`, `limit`,
    /// `rate`, `stop`; `begin` of an operation; `create`, `edit`, `run` and `delete` of a schedule;
    /// `publish` and `unsubscribe`; `reseal`; `acknowledge` and `unacknowledge`.
    pub action: String,
    /// To what kind of thing: `job`, `dead_letter`, or `jobs` and `dead_letters` when it was
    /// several at once; `queue`, `kind`, `all`, `schedule`, `topic`,
    /// `concurrency_group`, `concurrency_key`, `operation`, `worker`, `attention`
    /// or `payloads`.
    pub subject: String,
    /// To which one; `None` when it was several, or when it has no id.
    pub subject_id: Option<i64>,
    /// What it is called: the queue, the group, the key, or the name of the worker.
    pub subject_name: Option<String>,
    /// The circumstances: the job of a replay, the number of things changed, the filter that
    /// matched them, the limit and the one before, the reason, …. Of an operation's `begin` what
    /// came of it, too, once it has ended.
    pub detail: Value,
    /// The payload that was discarded, or that a replay ran with instead of the stored one.
    pub args: Option<Payload>,
}

/// Which audit entries a call returns: those that match every condition set here.
///
/// ```
/// use jobkit::admin::audit::AuditFilter;
///
/// let pauses = AuditFilter::all().actor("alice").action("pause").subject("queue").name("mail");
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuditFilter {
    pub(crate) actor: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) id: Option<i64>,
    pub(crate) name: Option<String>,
}

impl AuditFilter {
    /// Every entry.
    #[must_use]
    pub fn all() -> Self {
        Self { actor: None, action: None, subject: None, id: None, name: None }
    }

    /// Only what was done by this actor, named as in
    /// [`Admin::acting_as`](crate::Admin::acting_as).
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actor = Some(limits::actor(&actor.into()));
        self
    }

    /// Only this [`action`](AuditEntry::action); 1 to 128 bytes.
    #[must_use]
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = Some(action.into());
        self
    }

    /// Only what was done to this [kind of thing](AuditEntry::subject); 1 to 128 bytes.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Only what was done to the one with this [id](AuditEntry::subject_id).
    #[must_use]
    pub fn id(mut self, id: i64) -> Self {
        self.id = Some(id);
        self
    }

    /// Only what was done to the one of this [name](AuditEntry::subject_name); at most 512 bytes.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// A page of the audit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AuditPage {
    /// Those that fit, the newest first. There may be none although more pages follow.
    pub entries: Vec<AuditEntry>,
    /// After which entry the next page begins; `None` after the last.
    pub next: Option<i64>,
}
