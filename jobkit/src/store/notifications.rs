use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use crate::Error;

/// A connection that listens for wake-ups.
pub(crate) struct Notifications {
    pool: PgPool,
    deadline: Duration,
    listener: Option<PgListener>,
}

impl Notifications {
    pub(crate) fn new(pool: PgPool, deadline: Duration) -> Self {
        Self { pool, deadline, listener: None }
    }

    /// Waits for a wake-up, at most as long as silence is trusted; then tests the connection.
    /// True when there may be news: a notification, or a connection made anew.
    pub(crate) async fn wait(&mut self, silence: Duration) -> Result<bool, Error> {
        // Out of its place while in use: an error or a dropped future loses the connection, and
        // the next call makes a new one.
        let Some(mut listener) = self.listener.take() else {
            let deadline = self.deadline;
            let listener = timeout(deadline, self.connect()).await;
            self.listener = Some(listener.map_err(|_| Error::Deadline(deadline))??);
            return Ok(true);
        };
        let notified = match timeout(silence, listener.try_recv()).await {
            Ok(said) => said?.is_some(),
            Err(_) => {
                let ping = sqlx::query("select 1").execute(&mut listener);
                timeout(self.deadline, ping)
                    .await
                    .map_err(|_| Error::Deadline(self.deadline))??;
                self.listener = Some(listener);
                return Ok(false);
            }
        };
        // A closed connection is silent, too: keep it only after a notification.
        if notified {
            self.listener = Some(listener);
        }
        Ok(notified)
    }

    async fn connect(&self) -> Result<PgListener, Error> {
        let options = self.pool.connect_options().as_ref().clone();
        let options = options.application_name("jobkit listen");
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        // A role's or database's default would end a session that only listens.
        sqlx::raw_sql("set idle_session_timeout = 0").execute(&mut listener).await?;
        listener.listen("jobkit").await?;
        Ok(listener)
    }

    pub(crate) async fn close(self) {
        drop(self.listener);
    }
}
