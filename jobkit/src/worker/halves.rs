//! Handles a transition of many jobs that fails, possibly because of one of them.

use std::time::Duration;

use super::some::some;
use crate::error::DatabaseError;
use crate::store::{Call, Link, stick};

/// The stuck jobs of a transition: those that the server refuses alone.
pub(crate) type Stuck = Vec<(i64, DatabaseError)>;

/// Applies to each of these jobs what was refused for all of them, by halves, so that one bad job
/// does not affect others. Returns how many were done, and which are stuck.
///
/// # Errors
/// An error that no job caused, such as a lost connection, ends it.
pub(crate) async fn by_halves<'a, C: Call<Answer = i32>>(
    link: &mut Link,
    jobs: &'a [i64],
    done: &mut i32,
    call: impl Fn(&'a [i64]) -> C,
) -> Result<Stuck, DatabaseError> {
    let (mut work, mut stuck) = (vec![jobs], Stuck::new());
    while let Some(some) = work.pop() {
        match (link.call(&call(some)).await, some) {
            (Ok(n), _) => *done += n,
            (Err(error), [job]) if error.may_be_one_job() => stuck.push((*job, error)),
            (Err(error), [_, _, ..]) if error.may_be_one_job() => {
                let (first, second) = some.split_at(some.len() / 2);
                work.extend([second, first]);
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(stuck)
}

/// Records in the log and in the database which jobs are stuck, and returns how long to leave each
/// alone. This is best effort: what is wrong with their rows may affect others.
pub(crate) async fn report(
    link: &mut Link,
    transition: &str,
    worker: i64,
    stuck: &Stuck,
) -> Vec<(i64, Duration)> {
    if stuck.is_empty() {
        return Vec::new();
    }
    let (first, more) = some(stuck);
    for (job, error) in first {
        tracing::warn!(job.id = job, transition, %error, "jobkit: a job is stuck");
    }
    if more > 0 {
        tracing::warn!(jobs = more, transition, "jobkit: more jobs are stuck");
    }
    let (jobs, errors): (Vec<_>, Vec<_>) =
        stuck.iter().map(|(job, error)| (*job, error.to_string())).unzip();
    link.call(&stick(transition, &jobs, &errors, worker)).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "jobkit: could not record that jobs are stuck");
        Vec::new()
    })
}
