//! Limits that hold across all workers, and pauses: of queues, kinds, everything, groups of
//! concurrency keys, limiters, and single keys.

use crate::admin::{Admin, AdminError};

mod change;
mod filter;
mod handle;
mod limit;
mod scope;
pub(super) mod statements;

pub use self::change::{Change, To};
pub use self::filter::LimitFilter;
pub use self::handle::LimitHandle;
pub use self::limit::{By, Limit, Pause, Said};
pub use self::scope::Scope;
pub use crate::policy::Rate;

/// What [`LimitHandle::set`] or [`LimitHandle::pause_for`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "an unknown group is reported here, not as an error"]
pub enum Limited {
    /// It was changed.
    Changed,
    /// It already was as requested.
    Unchanged,
    /// No worker has announced this group or limiter, so nothing was changed: the name may be
    /// misspelt, or no worker with such jobs has started yet.
    Unknown,
}

impl Limited {
    fn of(changed: Option<bool>) -> Self {
        match changed {
            Some(true) => Self::Changed,
            Some(false) => Self::Unchanged,
            None => Self::Unknown,
        }
    }
}

/// How many limits are listed.
const MOST: usize = 500;

impl Admin {
    /// Everything that is paused or limited, by scope (in the order of [`Scope::WORDS`]), name and
    /// key; 500 at most.
    ///
    /// A key is listed if it has a limit or a pause of its own, among the first 10,000 keys in use.
    /// Other keys follow their group, which is listed.
    ///
    /// ```no_run
    /// # use jobkit::Admin;
    /// # use jobkit::admin::limits::LimitFilter;
    /// # async fn f(admin: Admin) -> Result<(), Box<dyn std::error::Error>> {
    /// for limit in admin.limits(&LimitFilter::all().paused()).await? {
    ///     println!("{}: {limit}", limit.scope);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn limits(&self, filter: &LimitFilter) -> Result<Vec<Limit>, AdminError> {
        let (scopes, keys) = filter.scopes();
        let (name, paused) = (filter.name(), filter.only_paused());
        let mut link = self.list_link();
        let mut found = Vec::new();
        if !scopes.is_empty() {
            found = link.call(&statements::of_scopes(&scopes, name, paused)).await?;
        }
        if keys && found.len() < MOST {
            found.extend(link.call(&statements::of_keys(name, None, paused)).await?);
        }
        link.close().await;
        found.truncate(MOST);
        Ok(found)
    }

    /// The limit and the pause of this scope.
    pub fn limit(&self, scope: Scope) -> LimitHandle<'_> {
        LimitHandle::new(self, scope)
    }

    /// The limit and the pause of a queue.
    ///
    /// ```no_run
    /// # use jobkit::Admin;
    /// # use jobkit::admin::limits::Change;
    /// # async fn f(admin: Admin) -> Result<(), Box<dyn std::error::Error>> {
    /// admin.queue("mail").pause("the mail server is down").await?;
    /// let _limited = admin.queue("mail").set(&Change::new().running(3)).await?;
    /// # Ok(()) }
    /// ```
    pub fn queue(&self, name: &str) -> LimitHandle<'_> {
        self.limit(Scope::Queue(name.to_owned()))
    }

    /// The limit and the pause of a kind, in all versions and queues.
    pub fn kind(&self, name: &str) -> LimitHandle<'_> {
        self.limit(Scope::Kind(name.to_owned()))
    }

    /// The limit of each key of a concurrency group, unless the key has its own.
    pub fn group(&self, name: &str) -> LimitHandle<'_> {
        self.limit(Scope::Group(name.to_owned()))
    }

    /// The limit of each key of a [limiter](crate::limiter), unless the key has its own.
    pub fn limiter(&self, name: &str) -> LimitHandle<'_> {
        self.limit(Scope::Limiter(name.to_owned()))
    }

    /// The limit and the pause of one key of a concurrency group or of a limiter. The key need not
    /// be in use.
    pub fn key(&self, group: &str, key: &str) -> LimitHandle<'_> {
        self.limit(Scope::Key { group: group.to_owned(), key: key.to_owned() })
    }

    /// The pause of everything.
    pub fn everything(&self) -> LimitHandle<'_> {
        self.limit(Scope::All)
    }
}
