//! What becomes of jobs when a transition of many fails, and one of them may be why.

use std::time::Duration;

use super::some::some;
use crate::error::DatabaseError;
use crate::store::{Call, Link, stick};

/// What is stuck of the jobs of a transition: the server refuses each of them alone.
pub(crate) type Stuck = Vec<(i64, DatabaseError)>;

/// Does with each of these jobs what was refused for all of them, in halves and halves of those:
/// one that cannot be holds back no other. Counts what was done, and says what is left.
///
/// # Errors
/// What is nobody's fault among them, such as a lost connection, ends it.
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

/// Says in the log and in the database which jobs are stuck, and returns how long to leave each
/// alone. As well as it can: what is wrong with the rows of these may be wrong with more.
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
        tracing::warn!(%error, "jobkit: could not note that jobs are stuck");
        Vec::new()
    })
}
