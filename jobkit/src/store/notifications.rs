use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::time::timeout;

use super::source::{Source, require_writes};
use crate::error::DatabaseError;

/// What a notification says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing came.
    None,
    /// Something may be ready.
    Ready,
    /// Something is due soon.
    Due,
    /// A queue was paused, or jobs claimed ahead were cancelled: nothing claimed ahead may begin.
    Recall,
}

/// A connection that listens for wake-ups.
pub(crate) struct Notifications {
    source: Source,
    deadline: Duration,
    channel: &'static str,
    /// With the number of the host it listens to.
    listener: Option<(PgListener, usize)>,
}

impl Notifications {
    pub(crate) fn new(source: Source, deadline: Duration) -> Self {
        Self { source, deadline, channel: "jobkit", listener: None }
    }

    /// Listens on a channel other than that of workers.
    pub(crate) fn of(self, channel: &'static str) -> Self {
        Self { channel, ..self }
    }

    /// Waits for a wake-up, at most as long as silence is trusted; then tests the connection. A new
    /// connection counts as news, too.
    pub(crate) async fn wait(&mut self, silence: Duration) -> Result<News, DatabaseError> {
        // Taken out while in use: an error or a dropped future loses the connection, and the next
        // call opens a new one.
        let Some((mut listener, host)) = self.listener.take() else {
            let writes = self.source.wants_writes();
            let channel = self.channel;
            let connect = move |options| connect(options, writes, channel);
            self.listener = Some(self.source.open(self.deadline, connect).await?);
            return Ok(News::Recall);
        };
        let notified = tokio::select! {
            notified = timeout(silence, listener.try_recv()) => notified,
            // The next call listens where the others are.
            () = self.source.left(host) => return Ok(News::None),
        };
        let notified = match notified {
            Ok(notified) => notified?,
            Err(_) => {
                timeout(self.deadline, self.test(&mut listener))
                    .await
                    .map_err(|_| DatabaseError::Deadline(self.deadline))??;
                self.listener = Some((listener, host));
                return Ok(News::None);
            }
        };
        // A closed connection is silent, too: keep it only after a notification.
        let Some(notification) = notified else { return Ok(News::None) };
        self.listener = Some((listener, host));
        Ok(match notification.payload() {
            "due" => News::Due,
            "recall" => News::Recall,
            _ => News::Ready,
        })
    }

    /// Checks that the connection still works, and that its server notifies: a standby never does.
    async fn test(&self, listener: &mut PgListener) -> Result<(), DatabaseError> {
        if self.source.wants_writes() {
            return require_writes(&mut *listener).await;
        }
        sqlx::query("select 1").execute(listener).await?;
        Ok(())
    }

    pub(crate) async fn close(self) {
        drop(self.listener);
    }
}

async fn connect(
    options: PgConnectOptions,
    writes: bool,
    channel: &str,
) -> Result<PgListener, DatabaseError> {
    let options = options.application_name("jobkit listen");
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    if writes {
        require_writes(&mut listener).await?;
    }
    // A default of the role or database would end a session that only listens.
    sqlx::raw_sql("set idle_session_timeout = 0").execute(&mut listener).await?;
    listener.listen(channel).await?;
    Ok(listener)
}
