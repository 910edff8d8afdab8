use sqlx::PgConnection;

use super::Call;
use super::time::Time;

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
