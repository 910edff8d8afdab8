use super::StuckJob;
use crate::store::{from_row, statements};

statements! {
    /// The jobs with which a transition fails, the longest so first; or one of them, if it is.
    fn stuck_jobs(only: Option<i64>, limit: i64) -> Vec<StuckJob>
        = "select job_id, transition, error, since, tries, retry_at from jobkit.stuck_jobs
            where $1::bigint is null or job_id = $1 order by since, job_id limit $2";
}

from_row! {
    StuckJob { job: "job_id", transition, error, since, tries, retry_at }
}
