//! Counters that only grow, computed from measures that expire.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use jobkit::admin::AdminError;
use jobkit::admin::measures::{Histogram, MeasureRow};
use tokio::sync::Mutex;

/// How many buckets of a [`Histogram`] are merged into one here.
const WIDTH: usize = 2;

/// How many pairs of a queue and a kind get their own series: producers choose the names, and each
/// pair takes 5 kB. All others share one series without names.
const PAIRS: usize = 500;

/// Outcomes of attempts since the first scrape of this process, as numbers that only grow.
///
/// The database keeps measures per quarter of an hour, for a week. Each scrape reads the quarters
/// that may have changed since the last one; older ones are summed up and not read again.
#[derive(Debug, Default)]
pub(crate) struct Totals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The first quarter that the next scrape reads; `None` to read the quarters that the database
    /// considers open.
    from: Option<DateTime<Utc>>,
    /// The sums of all earlier quarters, minus what was there at the first scrape.
    over: Sums,
    /// The pairs that were seen first. They keep their series forever.
    pairs: BTreeSet<[String; 2]>,
    begun: bool,
}

/// By queue, kind and outcome.
pub(crate) type Sums = BTreeMap<[String; 3], Sum>;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: i64,
    pub(crate) run: Times,
    pub(crate) wait: Times,
}

/// A histogram of times in seconds, with wider buckets than in the database.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Times(Vec<i64>);

impl Totals {
    /// The current numbers; `read` returns the measures from a given quarter onwards.
    pub(crate) async fn look<F>(
        &self,
        read: impl FnOnce(Option<DateTime<Utc>>) -> F,
    ) -> Result<Sums, AdminError>
    where
        F: Future<Output = Result<Vec<MeasureRow>, AdminError>>,
    {
        let mut state = self.0.lock().await;
        let rows = read(state.from).await?;
        Ok(state.take_in(&rows))
    }
}

impl State {
    fn take_in(&mut self, rows: &[MeasureRow]) -> Sums {
        rows.iter().for_each(|row| self.admit(row));
        if !std::mem::replace(&mut self.begun, true) {
            rows.iter().for_each(|row| add(&mut self.over, series(&self.pairs, row), row, -1));
        }
        // A write in progress may still add to the quarter that just ended.
        let open =
            rows.iter().map(|row| row.at).max().map(|newest| newest - TimeDelta::minutes(15));
        let (over, running): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| open.is_some_and(|open| row.at < open));
        over.into_iter().for_each(|row| add(&mut self.over, series(&self.pairs, row), row, 1));
        let mut sums = self.over.clone();
        running.into_iter().for_each(|row| add(&mut sums, series(&self.pairs, row), row, 1));
        self.from = open.or(self.from);
        sums
    }

    fn admit(&mut self, row: &MeasureRow) {
        if self.pairs.len() < PAIRS {
            self.pairs.insert([row.queue.clone(), row.kind.clone()]);
        }
    }
}

/// The series that counts a measure.
fn series(pairs: &BTreeSet<[String; 2]>, row: &MeasureRow) -> [String; 3] {
    let pair = [row.queue.clone(), row.kind.clone()];
    let [queue, kind] = if pairs.contains(&pair) { pair } else { Default::default() };
    [queue, kind, row.outcome.clone()]
}

fn add(sums: &mut Sums, series: [String; 3], row: &MeasureRow, sign: i64) {
    let sum = sums.entry(series).or_default();
    sum.count += sign * row.count.cast_signed();
    sum.run.add(&row.run, sign);
    sum.wait.add(&row.wait, sign);
}

impl Sum {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for (mine, theirs) in [(&mut self.run, &other.run), (&mut self.wait, &other.wait)] {
            mine.resize(theirs.0.len());
            mine.0.iter_mut().zip(&theirs.0).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

impl Times {
    fn resize(&mut self, buckets: usize) {
        let buckets = buckets.max(self.0.len());
        self.0.resize(buckets, 0);
    }

    fn add(&mut self, times: &Histogram, sign: i64) {
        for (at, (_, number)) in times.buckets().enumerate() {
            self.resize(at.div_ceil(WIDTH) + 1);
            self.0[at.div_ceil(WIDTH)] += sign * number.cast_signed();
        }
    }

    /// The buckets: the upper bound in seconds, and the count. The bounds are always the same, and
    /// the last bucket has none.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds: Vec<_> = Histogram::bounds().step_by(WIDTH).collect();
        let number = |at: usize| self.0.get(at).map_or(0, |n| n.max(&0).cast_unsigned());
        let beyond = (bounds.len()..self.0.len()).map(number).sum();
        let bounded =
            bounds.iter().enumerate().map(|(at, bound)| (bound.as_secs_f64(), number(at)));
        bounded.chain([(f64::MAX, beyond)]).collect()
    }

    /// The approximate sum in seconds: each time counts as the middle of its bucket.
    pub(crate) fn sum(&self) -> f64 {
        let mut from = 0.0;
        let mut sum = 0.0;
        for (to, number) in self.buckets() {
            let middle = if to == f64::MAX { from } else { f64::midpoint(from, to) };
            sum += middle * number as f64;
            from = to;
        }
        sum
    }
}
