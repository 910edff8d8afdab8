//! The kinds of jobs.

use std::time::Duration;

use crate::admin::Admin;
use crate::admin::AdminError;
use crate::admin::measures::statements::measures_of_kinds;
use crate::store::interval;

mod kind;
pub(super) mod statements;

pub use self::kind::KindSummary;

impl Admin {
    /// The first 1,000 kinds that workers have announced, by name, with their measures of the last
    /// hour.
    pub async fn kinds(&self) -> Result<Vec<KindSummary>, AdminError> {
        let mut link = self.link();
        let mut kinds = link.call(&statements::kinds()).await?;
        let hour = interval(Duration::from_secs(60 * 60));
        let mut lately = link.call(&measures_of_kinds(hour)).await?;
        link.close().await;
        for kind in &mut kinds {
            kind.lately = lately.remove(&kind.kind).unwrap_or_default();
        }
        Ok(kinds)
    }
}
