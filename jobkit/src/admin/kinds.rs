//! The kinds of jobs.

use super::Admin;
use crate::Error;
use crate::observed::kind::KindSummary;
use crate::store::Kinds;

impl Admin {
    /// The kinds that workers have announced, by name, the first 1,000.
    ///
    /// # Errors
    /// As all of [`Admin`].
    pub async fn kinds(&self) -> Result<Vec<KindSummary>, Error> {
        self.ask(&Kinds).await
    }
}
