//! Jobs that run for longer than others of their kind.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::attention::Attention;
use super::statements;
use crate::JobId;
use crate::admin::AdminError;
use crate::admin::measures::Measures;
use crate::store::{Link, interval};

/// How many attempts must be measured before a short run time counts as usual.
const ENOUGH: u64 = 20;

/// How many kinds are compared with their usual run times.
const KINDS: usize = 100;

/// A job that has run for a long time.
#[derive(Debug)]
pub(crate) struct Run {
    pub(super) job: JobId,
    pub(super) queue: String,
    pub(super) kind: String,
    pub(super) worker: i64,
    pub(super) name: String,
    pub(super) claimed_at: DateTime<Utc>,
    pub(super) ran: Duration,
}

/// [`Attention::LongRun`]s. Usual run times are only read if a job has run for a long time.
pub(super) async fn long_runs(
    link: &mut Link,
    late: Duration,
) -> Result<Vec<Attention>, AdminError> {
    let runs = link.call(&statements::long_runs(interval(late))).await?;
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let mut kinds: Vec<String> = runs.iter().map(|run| run.kind.clone()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.truncate(KINDS);
    let usual = link.call(&statements::usual(&kinds)).await?;
    Ok(judged(runs, &usual, late))
}

/// The jobs of each queue and kind that have run too long, the longest first.
fn judged(runs: Vec<Run>, measured: &HashMap<String, Measures>, late: Duration) -> Vec<Attention> {
    let usual = |kind: &str| measured.get(kind)?.run.percentile(0.99);
    let too_long = |run: &Run| {
        let count = measured.get(&run.kind).map_or(0, |measures| measures.run.count());
        let least = if count < ENOUGH { late * 12 } else { late };
        run.ran > least.max(usual(&run.kind).unwrap_or_default().saturating_mul(4))
    };
    let mut found: BTreeMap<(String, String), Vec<Run>> = BTreeMap::new();
    for run in runs.into_iter().filter(too_long) {
        found.entry((run.queue.clone(), run.kind.clone())).or_default().push(run);
    }
    let mut long: Vec<_> = found.into_values().collect();
    long.sort_by_key(|runs| std::cmp::Reverse(runs.first().map(|run| run.ran)));
    let long = long.into_iter().filter_map(|runs| {
        let (number, newest) = (runs.len(), runs.iter().map(|run| run.claimed_at).max()?);
        let Run { job, queue, kind, worker, name, ran, .. } = runs.into_iter().next()?;
        let (usual, jobs) = (usual(&kind), u32::try_from(number).unwrap_or(u32::MAX));
        Some(Attention::LongRun { queue, kind, job, worker, name, ran, usual, jobs, newest })
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Whether a job that has run this long needs attention, by the times of others of its kind.
    fn rings(ran: Duration, others: &[Duration]) -> bool {
        let (kind, name) = ("report".to_owned(), "web-1:7".to_owned());
        let (queue, claimed_at) = ("default".to_owned(), DateTime::UNIX_EPOCH);
        let run =
            Run { job: JobId(1), queue, kind: kind.clone(), worker: 1, name, claimed_at, ran };
        let mut measures = Measures::default();
        others.iter().for_each(|took| measures.run.add(*took));
        !judged(vec![run], &HashMap::from([(kind, measures)]), 5 * MINUTE).is_empty()
    }

    #[test]
    fn few_that_took_long_are_as_usual_as_many() {
        for (minutes, others, expected) in [
            (59, vec![], false),
            (61, vec![], true),
            (59, vec![MINUTE; 7], false),
            (61, vec![MINUTE; 7], true),
            (6, vec![MINUTE; 20], true),
            // A report of each night.
            (180, vec![120 * MINUTE; 7], false),
            (700, vec![120 * MINUTE; 7], true),
        ] {
            assert_eq!(rings(minutes * MINUTE, &others), expected, "{minutes} {}", others.len());
        }
    }
}
