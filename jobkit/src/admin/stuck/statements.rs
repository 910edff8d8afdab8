use super::StuckJob;
use crate::store::{from_row, statements};

statements! {
    /// The stuck jobs, the longest stuck first; or only this one, if it is stuck.
    fn stuck_jobs(only: Option<i64>, limit: i64) -> Vec<StuckJob>
        = "select s.job_id, s.transition, s.error, s.since, s.tries, s.retry_at
            from jobkit.stuck_jobs s
            where ($1::bigint is null or s.job_id = $1) and (s.transition <> 'open' or exists (
                select from jobkit.scheduled w
                where w.run_at = s.retry_at and w.job_id = s.job_id))
            order by s.since, s.job_id limit $2";
}

from_row! {
    StuckJob { job: "job_id", transition, error, since, tries, retry_at }
}
