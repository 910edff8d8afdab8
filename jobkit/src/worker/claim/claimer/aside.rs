use std::collections::HashSet;

use crate::error::DatabaseError;
use crate::store::{Claim, ClaimedJob, Link, set_aside, unstick};

/// Jobs that the server could not read, and that are not known to have recovered.
#[derive(Debug, Default)]
pub(super) struct Aside(HashSet<i64>);

impl Aside {
    /// Puts off jobs that may have made this claim fail, since each would block every claim.
    /// Returns the error if there were none.
    pub(super) async fn put(
        &mut self,
        link: &mut Link,
        claim: &Claim<'_>,
        error: DatabaseError,
    ) -> Option<DatabaseError> {
        // A timeout means too much work, not a damaged row.
        if !error.may_be_one_row() || error.code().as_deref() == Some("57014") {
            return Some(error);
        }
        match link.call(&set_aside(claim)).await {
            Ok(aside) if aside.is_empty() => return Some(error),
            Ok(aside) => {
                for (job, error) in &aside {
                    tracing::warn!(
                        job.id = job,
                        transition = "claim",
                        error,
                        "jobkit: a job is stuck"
                    );
                }
                self.0.extend(aside.into_iter().map(|(job, _)| job));
            }
            Err(error) => return Some(error),
        }
        tracing::warn!(%error, "jobkit: claiming failed");
        None
    }

    /// Jobs that could not be read were read now, so they are no longer stuck.
    pub(super) async fn take_back(&mut self, link: &mut Link, jobs: &[ClaimedJob]) {
        if self.0.is_empty() {
            return;
        }
        let read: Vec<_> = jobs.iter().map(|job| job.id).filter(|job| self.0.remove(job)).collect();
        if !read.is_empty()
            && let Err(error) = link.call(&unstick(&read)).await
        {
            tracing::debug!(%error, "jobkit: could not record that jobs are no longer stuck");
        }
    }
}
