//! What operators have acknowledged.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::attention::Attention;
use super::statements;
use crate::admin::Admin;
use crate::admin::AdminError;
use crate::error::InvalidValue;
use crate::limits::{self, KEY_BYTES, NAME_BYTES};

/// The longest subject: a group and a key.
const SUBJECT_BYTES: usize = NAME_BYTES + KEY_BYTES + 8;

/// Something that needs attention and that an operator has acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledged {
    /// What it is.
    pub item: Attention,
    /// Who acknowledged it, by the name they gave.
    pub actor: Option<String>,
    /// The reason they gave.
    pub reason: Option<String>,
    /// When it was acknowledged.
    pub at: DateTime<Utc>,
}

/// How it is stored.
#[derive(Debug)]
pub(crate) struct Acknowledgement {
    pub(super) what: String,
    pub(super) subject: String,
    pub(super) up_to: DateTime<Utc>,
    pub(super) actor: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) at: DateTime<Utc>,
}

/// What still needs attention, and what is acknowledged, in an overview of this time.
pub(super) fn parted(
    found: Vec<Attention>,
    known: Vec<Acknowledgement>,
    at: DateTime<Utc>,
) -> (Vec<Attention>, Vec<Acknowledged>) {
    let mut known: HashMap<_, _> = known
        .into_iter()
        .map(|known| ((known.what.clone(), known.subject.clone()), known))
        .collect();
    let (mut attention, mut acknowledged) = (Vec::new(), Vec::new());
    for item in found {
        let known = known.remove(&(item.name().to_owned(), item.subject()));
        match known.filter(|known| item.since(at) <= known.up_to) {
            Some(Acknowledgement { actor, reason, at, .. }) => {
                acknowledged.push(Acknowledged { item, actor, reason, at });
            }
            None => attention.push(item),
        }
    }
    (attention, acknowledged)
}

/// Something that needs [`Attention`], referred to by its [`name`](Attention::name) and
/// [`subject`](Attention::subject). It need not need attention now. [`Admin::attention`] returns
/// it.
///
/// ```no_run
/// # async fn f(admin: jobkit::Admin) -> Result<(), jobkit::admin::AdminError> {
/// let now = admin.overview().await?;
/// for item in &now.attention {
///     let subject = item.subject();
///     let known = admin.attention(item.name(), &subject);
///     known.acknowledge(Some(now.at), "known, see the log book").await?;
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// Every method fails with [`AdminError::Invalid`] for a name that is empty or longer than 128
/// bytes, and for a subject that is too long. For the errors of every method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is done until one of its methods is awaited"]
pub struct AttentionRef<'a> {
    admin: &'a Admin,
    name: &'a str,
    subject: &'a str,
}

impl Admin {
    /// Something that needs attention, to acknowledge it.
    pub fn attention<'a>(&'a self, name: &'a str, subject: &'a str) -> AttentionRef<'a> {
        AttentionRef { admin: self, name, subject }
    }
}

impl AttentionRef<'_> {
    /// Acknowledges it: the [`overview`](Admin::overview) lists it separately, and metrics do not
    /// count it. It needs attention again when it happens again after `seen`, or after 30 days.
    /// `seen` is the time of the overview that showed it ([`Overview::at`](super::Overview::at));
    /// `None` means now. 16 KiB of the reason are kept.
    ///
    /// Returns whether there is such a name. A late queue or a held key happens again when the jobs
    /// that waited then have started and others have waited as long.
    pub async fn acknowledge(
        self,
        seen: Option<DateTime<Utc>>,
        reason: &str,
    ) -> Result<bool, AdminError> {
        self.check()?;
        let Self { admin, name, subject } = self;
        if !Attention::NAMES.contains(&name) {
            return Ok(false);
        }
        let reason = limits::clean(reason);
        let reason = Some(&*reason).filter(|reason| !reason.is_empty());
        let (seen, actor) = (seen.map(limits::time), admin.actor());
        admin.ask(&statements::acknowledge(name, subject, seen, reason, actor)).await?;
        Ok(true)
    }

    /// Takes the acknowledgement back. Returns whether it was acknowledged.
    pub async fn unacknowledge(self) -> Result<bool, AdminError> {
        self.check()?;
        let Self { admin, name, subject } = self;
        admin.ask(&statements::unacknowledge(name, subject, admin.actor())).await
    }

    fn check(self) -> Result<(), InvalidValue> {
        limits::name("name of what needs attention", self.name, NAME_BYTES)?;
        limits::text("subject", self.subject, SUBJECT_BYTES)
    }
}
