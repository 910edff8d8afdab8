use std::fmt;
use std::future::Future;
use std::ops::DerefMut;
use std::pin::Pin;

use sqlx::{PgConnection, PgPool};
use tokio::sync::Mutex;

/// A session for the kit: `&mut *tx` or `&mut *connection`; `&pool`; or a `tokio` mutex of the
/// transaction or connection, which handlers have in their state.
#[diagnostic::on_unimplemented(
    message = "the testing kit cannot use `{Self}`",
    label = "not a pool, a connection or a dereferenced transaction",
    note = "write `&pool`, `&mut *tx` (note the `*`), `&mut *connection`, or `&mutex`"
)]
pub trait Session: fmt::Debug + Send + sealed::Sealed {
    /// The connection, for one call.
    #[doc(hidden)]
    fn connection(&mut self) -> Opening<'_>;

    /// Whether handlers use the same connection.
    #[doc(hidden)]
    fn is_shared(&self) -> bool {
        false
    }
}

type Opening<'a> = Pin<Box<dyn Future<Output = sqlx::Result<Opened<'a>>> + Send + 'a>>;
type Opened<'a> = Box<dyn DerefMut<Target = PgConnection> + Send + 'a>;

mod sealed {
    pub trait Sealed {}
    impl Sealed for &mut sqlx::PgConnection {}
    impl Sealed for &sqlx::PgPool {}
    impl<C> Sealed for &tokio::sync::Mutex<C> {}
}

impl Session for &mut PgConnection {
    fn connection(&mut self) -> Opening<'_> {
        Box::pin(std::future::ready(Ok(Box::new(&mut **self) as Opened<'_>)))
    }
}

impl Session for &PgPool {
    fn connection(&mut self) -> Opening<'_> {
        Box::pin(async { Ok(Box::new(self.acquire().await?) as Opened<'_>) })
    }
}

impl<C: DerefMut<Target = PgConnection> + fmt::Debug + Send> Session for &Mutex<C> {
    fn connection(&mut self) -> Opening<'_> {
        Box::pin(async { Ok(Box::new(Locked(self.lock().await)) as Opened<'_>) })
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// The connection behind the lock.
struct Locked<'a, C>(tokio::sync::MutexGuard<'a, C>);

impl<C: DerefMut<Target = PgConnection>> std::ops::Deref for Locked<'_, C> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0
    }
}

impl<C: DerefMut<Target = PgConnection>> DerefMut for Locked<'_, C> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
