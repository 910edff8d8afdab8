use sqlx::PgConnection;
use tracing::Span;

use crate::store::{Call, Time};

/// A page of the semaphores that a filter means; `None` is any.
pub(crate) struct SemaphoresPage<'a> {
    /// Group and key.
    pub(crate) after: (&'a str, &'a str),
    pub(crate) limit: i64,
    pub(crate) group: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) at_limit: bool,
    pub(crate) blocked: bool,
}

/// Group, key, effective limit, override, taken, blocked jobs, since when the oldest is.
pub(crate) type SemaphoreRow = (String, String, i32, Option<i32>, i32, i64, Option<Time>);

impl Call for SemaphoresPage<'_> {
    type Answer = Vec<SemaphoreRow>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/semaphores_list.sql"))
            .bind(self.after.0)
            .bind(self.after.1)
            .bind(self.limit)
            .bind(self.group)
            .bind(self.key)
            .bind(self.at_limit)
            .bind(self.blocked)
            .fetch_all(connection)
            .await
    }
}

/// Who holds the permits of a key (group, key).
pub(crate) struct PermitsHeld<'a>(pub(crate) &'a str, pub(crate) &'a str);

impl Call for PermitsHeld<'_> {
    /// Job, worker when it runs, since when.
    type Answer = Vec<(i64, Option<i64>, Time)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/permits_held.sql"))
            .bind(self.0)
            .bind(self.1)
            .fetch_all(connection)
            .await
    }
}

/// Who gets the next permits of a key (group, key).
pub(crate) struct FirstBlocked<'a>(pub(crate) &'a str, pub(crate) &'a str);

impl Call for FirstBlocked<'_> {
    /// Job, kind, queue, priority, since when.
    type Answer = Vec<(i64, String, String, i16, Time)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/blocked_first.sql"))
            .bind(self.0)
            .bind(self.1)
            .fetch_all(connection)
            .await
    }
}

/// The concurrency groups.
pub(crate) struct Groups;

impl Call for Groups {
    /// Name, default limit, override.
    type Answer = Vec<(String, i32, Option<i32>)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/groups_list.sql")).fetch_all(connection).await
    }
}

/// Sets or clears an operator's limit for a group.
pub(crate) struct LimitGroup<'a> {
    pub(crate) group: &'a str,
    pub(crate) limit: Option<i32>,
    pub(crate) actor: Option<&'a str>,
}

impl Call for LimitGroup<'_> {
    /// Whether some worker has announced the group.
    type Answer = bool;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.limit", group = self.group, limit = self.limit)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        sqlx::query_scalar(include_str!("sql/groups_limit.sql"))
            .bind(self.group)
            .bind(self.limit)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}

/// Sets or clears an operator's limit for a key.
pub(crate) struct LimitKey<'a> {
    pub(crate) group: &'a str,
    pub(crate) key: &'a str,
    pub(crate) limit: Option<i32>,
    pub(crate) actor: Option<&'a str>,
}

impl Call for LimitKey<'_> {
    /// Whether some worker has announced the group.
    type Answer = bool;

    fn span(&self) -> Span {
        let Self { group, key, limit, .. } = self;
        tracing::debug_span!("jobkit.limit", group, key, limit)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        sqlx::query_scalar(include_str!("sql/semaphores_limit.sql"))
            .bind(self.group)
            .bind(self.key)
            .bind(self.limit)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}
