use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use crate::Error;

/// What a notification says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing came.
    None,
    /// Something may be ready.
    Ready,
    /// Something is due soon.
    Due,
    /// A queue was paused, or jobs were cancelled that were claimed ahead: nothing claimed ahead is
    /// to begin.
    Recall,
}

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
    /// A connection made anew is news, too.
    pub(crate) async fn wait(&mut self, silence: Duration) -> Result<News, Error> {
        // Out of its place while in use: an error or a dropped future loses the connection, and
        // the next call makes a new one.
        let Some(mut listener) = self.listener.take() else {
            let deadline = self.deadline;
            let listener = timeout(deadline, self.connect()).await;
            self.listener = Some(listener.map_err(|_| Error::Deadline(deadline))??);
            return Ok(News::Recall);
        };
        let notified = match timeout(silence, listener.try_recv()).await {
            Ok(notified) => notified?,
            Err(_) => {
                let ping = sqlx::query("select 1").execute(&mut listener);
                timeout(self.deadline, ping)
                    .await
                    .map_err(|_| Error::Deadline(self.deadline))??;
                self.listener = Some(listener);
                return Ok(News::None);
            }
        };
        // A closed connection is silent, too: keep it only after a notification.
        let Some(notification) = notified else { return Ok(News::None) };
        self.listener = Some(listener);
        Ok(match notification.payload() {
            "due" => News::Due,
            "recall" => News::Recall,
            _ => News::Ready,
        })
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
