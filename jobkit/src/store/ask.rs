//! Calls made through somebody else's connection.

use tokio::sync::Mutex;

use super::{Call, Link};
use crate::error::DatabaseError;

/// Makes calls for code without a connection of its own.
pub(crate) trait Ask: Send + Sync {
    /// Makes it, when its turn comes.
    fn ask<C: Call + Send + 'static>(
        &self,
        call: C,
    ) -> impl Future<Output = Result<C::Answer, DatabaseError>> + Send;
}

impl Ask for Mutex<Link> {
    async fn ask<C: Call + Send + 'static>(&self, call: C) -> Result<C::Answer, DatabaseError> {
        self.lock().await.call(&call).await
    }
}
