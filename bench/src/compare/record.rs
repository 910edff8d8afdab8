//! What one run of one contestant gave.

use std::collections::BTreeMap;

use serde::Serialize;

use super::report::number;

/// Figures by name.
pub(crate) type Figures = BTreeMap<&'static str, f64>;

/// A line of the results.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    pub(crate) workload: &'static str,
    pub(crate) contestant: &'static str,
    pub(crate) round: usize,
    pub(crate) figures: Figures,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}

impl Record {
    /// What the contestant did not get through, if anything.
    fn left(&self) -> Option<String> {
        let figure = |name| self.figures.get(name).filter(|jobs| **jobs > 0.0);
        let undone = figure("undone").map(|jobs| format!("{jobs} jobs were not done in time"));
        undone.or_else(|| figure("missing").map(|jobs| format!("{jobs} jobs have not begun")))
    }
}

/// The middle of the rounds, with the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) greatest: f64,
}

/// All records so far.
#[derive(Debug, Default)]
pub(crate) struct Records(pub(crate) Vec<Record>);

impl Records {
    fn of(&self, workload: &str, contestant: &str) -> impl Iterator<Item = &Record> {
        let wanted =
            move |record: &&Record| record.workload == workload && record.contestant == contestant;
        self.0.iter().filter(wanted)
    }

    /// Contestants of a workload, in the order in which they came.
    pub(crate) fn contestants(&self, workload: &str) -> Vec<&'static str> {
        let mut names = Vec::new();
        for record in self.0.iter().filter(|record| record.workload == workload) {
            if !names.contains(&record.contestant) {
                names.push(record.contestant);
            }
        }
        names
    }

    /// One figure of one contestant; `None` when no round gave it.
    pub(crate) fn spread(&self, workload: &str, contestant: &str, figure: &str) -> Option<Spread> {
        let figures = self.of(workload, contestant).filter_map(|record| record.figures.get(figure));
        Spread::of(figures.copied().collect())
    }

    pub(crate) fn median(&self, workload: &str, contestant: &str, figure: &str) -> Option<f64> {
        Some(self.spread(workload, contestant, figure)?.median)
    }

    /// A line for each run in which a contestant, or a variant of it, failed or ran out of time.
    pub(crate) fn failures(&self, contestant: &str) -> Vec<String> {
        let ours = self.0.iter().filter(|record| record.contestant.starts_with(contestant));
        ours.filter_map(|record| {
            let why = record.failed.clone().or_else(|| record.left())?;
            let Record { workload, contestant, round, .. } = record;
            Some(format!("  {workload}, {contestant}, round {round}: {why}"))
        })
        .collect()
    }

    /// The most jobs that a contestant had not done when the time of a round was up.
    fn undone(&self, workload: &str, contestant: &str) -> Option<f64> {
        let undone =
            self.of(workload, contestant).filter_map(|record| record.figures.get("undone"));
        undone.copied().reduce(f64::max)
    }

    /// What the figures of a contestant do not show, a line each.
    pub(crate) fn remarks(&self, workload: &str, contestant: &str) -> Vec<String> {
        let rounds = self.of(workload, contestant).count();
        let failed = self.of(workload, contestant).filter_map(|record| record.failed.as_deref());
        let failed: Vec<_> = failed.collect();
        let behind = |record: &&Record| record.figures.get("behind").is_some_and(|is| *is > 0.0);
        let behind = self.of(workload, contestant).filter(behind).count();
        let mut remarks = Vec::new();
        if let Some(why) = failed.first() {
            remarks.push(format!("failed in {} of {rounds} rounds: {why}", failed.len()));
        }
        if let Some(undone) = self.undone(workload, contestant) {
            remarks.push(format!("did not get through: {} left", number(undone, 0)));
        }
        if behind > 0 {
            remarks.push(format!("falls behind in {behind} of {rounds} rounds"));
        }
        remarks
    }
}

impl Spread {
    fn of(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_by(f64::total_cmp);
        let (least, greatest) = (*figures.first()?, *figures.last()?);
        let middle = figures.len() / 2;
        let median = match figures.len() % 2 {
            0 => f64::midpoint(figures[middle - 1], figures[middle]),
            _ => figures[middle],
        };
        Some(Self { least, median, greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_were_left_are_a_failure() {
        let record = |contestant, figure, jobs| {
            let figures = Figures::from([(figure, jobs)]);
            Record { workload: "latency", contestant, round: 2, figures, failed: None }
        };
        let records = Records(vec![
            record("jobkit", "missing", 0.0),
            record("jobkit", "missing", 1.0),
            record("jobkit, history kept", "undone", 3.0),
            record("awa", "missing", 7.0),
        ]);
        let expected = [
            "  latency, jobkit, round 2: 1 jobs have not begun",
            "  latency, jobkit, history kept, round 2: 3 jobs were not done in time",
        ];
        assert_eq!(records.failures("jobkit"), expected);
    }

    #[test]
    fn a_round_that_failed_is_told_of_beside_the_figures_of_the_others() {
        let record = |figures: &[_], failed: Option<&str>| Record {
            workload: "offered",
            contestant: "awa",
            round: 1,
            figures: figures.iter().copied().collect(),
            failed: failed.map(str::to_owned),
        };
        let records = Records(vec![
            record(&[("behind", 0.0)], None),
            record(&[], Some("it stopped working")),
            record(&[("behind", 1.0)], None),
        ]);
        let expected =
            ["failed in 1 of 3 rounds: it stopped working", "falls behind in 1 of 3 rounds"];
        assert_eq!(records.remarks("offered", "awa"), expected);
    }

    #[test]
    fn the_median_is_between_the_least_and_the_greatest() {
        assert_eq!(Spread::of(vec![]), None);
        let spread = |least, median, greatest| Some(Spread { least, median, greatest });
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), spread(1.0, 2.0, 3.0));
        assert_eq!(Spread::of(vec![4.0, 1.0]), spread(1.0, 2.5, 4.0));
    }
}
