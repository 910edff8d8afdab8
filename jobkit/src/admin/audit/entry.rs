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
    /// When it happened.
    pub at: DateTime<Utc>,
    /// The name that the operator gave, if any.
    pub actor: Option<String>,
    /// The action: `cancel`, `discard`, `reschedule`, `replay`, `purge`, `pause`, `resume`,
    /// `limit`, `rate`, `stop`; `begin` of an operation; `create`, `edit`, `run` and `delete` of a
    /// schedule; `publish` and `unsubscribe`; `reseal`; `acknowledge` and `unacknowledge`.
    pub action: String,
    /// The kind of subject: `job`, `dead_letter`, or `jobs` and `dead_letters` for several at once;
    /// `queue`, `kind`, `all`, `schedule`, `topic`, `concurrency_group`, `concurrency_key`,
    /// `operation`, `worker`, `attention` or `payloads`.
    pub subject: String,
    /// The id of the subject; `None` for several, or if it has no id.
    pub subject_id: Option<i64>,
    /// The name of the subject: the queue, the group, the key, or the name of the worker.
    pub subject_name: Option<String>,
    /// Details: the job of a replay, the number of things changed, the filter that matched them,
    /// the new and the old limit, the reason, …. For `begin` of an operation also its result, once
    /// it has ended.
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

    /// Only what was done to the subject with this [id](AuditEntry::subject_id).
    #[must_use]
    pub fn id(mut self, id: i64) -> Self {
        self.id = Some(id);
        self
    }

    /// Only what was done to the subject with this [name](AuditEntry::subject_name); at most 512
    /// bytes.
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
    /// The entries, the newest first. There may be none although more pages follow.
    pub entries: Vec<AuditEntry>,
    /// The entry after which the next page begins; `None` on the last page.
    pub next: Option<i64>,
}
