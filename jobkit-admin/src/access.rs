//! Who may do what.

use std::fmt;

mod own_name;

pub(crate) use self::own_name::is_called_by_own_name;

/// The actor without authentication.
pub(crate) const ANYBODY: &str = "unauthenticated";

/// What a request to a [`Dashboard`](crate::Dashboard) may do. Every route names the permission it
/// needs ([`routes`](crate::routes)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Permission {
    /// Seeing queues, jobs, keys and dead letters with their errors, but without payloads.
    View,
    /// Seeing payloads and metadata, except what the [`Redaction`] hides.
    Payloads,
    /// Downloading dead letters as a file, which contains payloads only with
    /// [`Payloads`](Self::Payloads).
    Export,
    /// Seeing the audit log of what operators did.
    Audit,
    /// Reading `/metrics`.
    Metrics,
    /// Enqueueing a job of any kind, publishing to a topic, and removing subscriptions. Whoever has
    /// this permission decides what code runs.
    Enqueue,
    /// Cancelling a job.
    Cancel,
    /// Rescheduling a waiting job.
    Reschedule,
    /// Pausing and resuming queues, kinds, keys and schedules.
    Pause,
    /// Changing limits.
    Limit,
    /// Writing notes about causes of dead letters, and muting them.
    Note,
    /// Acknowledging what needs attention.
    Acknowledge,
    /// Replaying dead letters as they are.
    Replay,
    /// Replaying a dead letter with another payload. Whoever has this permission decides what code
    /// does.
    EditReplay,
    /// Removing a dead letter, and discarding jobs.
    Discard,
    /// Removing dead letters by their age.
    Purge,
    /// Creating, changing, running and deleting schedules. Whoever has this permission decides what
    /// code runs.
    Schedule,
    /// Asking a worker to stop.
    StopWorker,
    /// Acting on everything that matches a filter, or on several selected rows. The permission for
    /// the action is required as well.
    Bulk,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Self; 19] = [
        Self::View,
        Self::Payloads,
        Self::Export,
        Self::Audit,
        Self::Metrics,
        Self::Enqueue,
        Self::Cancel,
        Self::Reschedule,
        Self::Pause,
        Self::Limit,
        Self::Note,
        Self::Acknowledge,
        Self::Replay,
        Self::EditReplay,
        Self::Discard,
        Self::Purge,
        Self::Schedule,
        Self::StopWorker,
        Self::Bulk,
    ];

    /// The permission's name, for use in configuration files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Payloads => "payloads",
            Self::Export => "export",
            Self::Audit => "audit",
            Self::Metrics => "metrics",
            Self::Enqueue => "enqueue",
            Self::Cancel => "cancel",
            Self::Reschedule => "reschedule",
            Self::Pause => "pause",
            Self::Limit => "limit",
            Self::Note => "note",
            Self::Acknowledge => "acknowledge",
            Self::Replay => "replay",
            Self::EditReplay => "edit_replay",
            Self::Discard => "discard",
            Self::Purge => "purge",
            Self::Schedule => "schedule",
            Self::StopWorker => "stop_worker",
            Self::Bulk => "bulk",
        }
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_reading(self) -> bool {
        matches!(self, Self::View | Self::Payloads | Self::Export | Self::Audit | Self::Metrics)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of permissions, empty until some are added.
///
/// ```
/// use jobkit_admin::{Permission, Permissions};
///
/// let on_call = Permissions::viewer().with(Permission::Replay);
/// assert!(on_call.allows(Permission::Replay) && !on_call.allows(Permission::EditReplay));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions(u32);

impl Permissions {
    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self(0)
    }

    /// Reading everything except payloads, exports and the audit log.
    #[must_use]
    pub fn viewer() -> Self {
        Self::none().with(Permission::View).with(Permission::Metrics)
    }

    /// Keeping things running, with actions that can be undone or repaired: everything but
    /// [`Enqueue`](Permission::Enqueue), [`Schedule`](Permission::Schedule),
    /// [`EditReplay`](Permission::EditReplay), [`Purge`](Permission::Purge) and
    /// [`Export`](Permission::Export).
    #[must_use]
    pub fn operator() -> Self {
        Self::admin()
            .without(Permission::Enqueue)
            .without(Permission::Schedule)
            .without(Permission::EditReplay)
            .without(Permission::Purge)
            .without(Permission::Export)
    }

    /// Everything.
    #[must_use]
    pub fn admin() -> Self {
        Permission::ALL.into_iter().fold(Self::none(), Self::with)
    }

    /// The set with this permission added.
    #[must_use]
    pub fn with(self, permission: Permission) -> Self {
        Self(self.0 | permission.bit())
    }

    /// The set with this permission removed.
    #[must_use]
    pub fn without(self, permission: Permission) -> Self {
        Self(self.0 & !permission.bit())
    }

    /// Whether this permission is in the set.
    #[must_use]
    pub fn allows(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    /// The set without the permissions that change something.
    #[must_use]
    pub fn reading(self) -> Self {
        let changing = Permission::ALL.into_iter().filter(|permission| !permission.is_reading());
        changing.fold(self, Self::without)
    }
}

/// Which parts of a payload are hidden from a visitor who may see payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Redaction {
    /// The fields that the job's type marks as redacted, and every value of kinds that no worker
    /// has announced.
    #[default]
    Marked,
    /// Every value; field names and the structure stay visible.
    Everything,
    /// Nothing.
    Nothing,
}

/// Who sent a request and what they may do, as returned by the hook that you pass to
/// [`Dashboard::access`](crate::Dashboard::access).
///
/// ```
/// use jobkit_admin::{Access, Permissions};
///
/// let access = Access::new("alice@example.com", Permissions::operator());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// Their name, as recorded in the audit log.
    pub actor: String,
    /// What they may do.
    pub permissions: Permissions,
    /// What they see of payloads.
    pub redaction: Redaction,
}

impl Access {
    /// For this person or program, with these permissions and [`Redaction::Marked`].
    #[must_use]
    pub fn new(actor: impl Into<String>, permissions: Permissions) -> Self {
        Self { actor: actor.into(), permissions, redaction: Redaction::default() }
    }

    /// With another redaction.
    #[must_use]
    pub fn redaction(self, redaction: Redaction) -> Self {
        Self { redaction, ..self }
    }

    /// Whether they have a permission.
    pub(crate) fn may(&self, permission: Permission) -> bool {
        self.permissions.allows(permission)
    }

    /// What to hide of payloads; `None` hides everything, for want of the permission to see them.
    pub(crate) fn hidden(&self) -> Option<Redaction> {
        self.may(Permission::Payloads).then_some(self.redaction)
    }
}
