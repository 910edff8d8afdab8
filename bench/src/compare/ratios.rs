//! Ratios within one run, beside those of an earlier one: absolute figures drift with the machine.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::contestant::{CEILING, Contestant, JOBKIT, KEPT, WIDE};
use super::record::Records;
use super::workload;

/// By what a ratio may be smaller than the stored one: two runs differ by as much as a seventh.
const MARGIN: f64 = 0.2;

/// More is better in all of them.
pub(crate) type Ratios = BTreeMap<String, f64>;

/// Figures that are ratios by themselves: workload, figure, what. Replicas and queues are added, or
/// slots taken away: does it collapse?
const OWN: [(&str, &str, &str); 12] = [
    ("fleet", "to_one", "jobkit to one"),
    ("queues", "to_one", "jobkit to one"),
    ("drain50", "to_one", "jobkit to its 2,000 slots"),
    ("drain200", "to_one", "jobkit to its 2,000 slots"),
    ("drain500", "to_one", "jobkit to its 2,000 slots"),
    ("slots1", "of_best", "jobkit to slots ÷ run time"),
    ("slots5", "of_best", "jobkit to slots ÷ run time"),
    ("slots20", "of_best", "jobkit to slots ÷ run time"),
    ("offered", "of_asked", "jobkit to what is offered"),
    ("keyed", "fifty", "one key with 50 permits, to none"),
    ("zipf", "of_best", "the handler's part of a turn"),
    ("held", "served", "while a worker runs them, to plain inserts"),
];

/// jobkit to the ceiling and to the fastest peer, of everything that was measured.
pub(crate) fn of(records: &Records, contestants: &[Contestant]) -> Ratios {
    let mut ratios = Ratios::new();
    for workload in workload::ALL {
        let table = workload.table();
        let (name, figure) = (table.name, table.columns[0].0);
        let median = |contestant| records.median(name, contestant, figure);
        let better = |ours: f64, theirs: f64| match table.more {
            true => ours / theirs,
            false => theirs / ours,
        };
        let peers = contestants.iter().filter(|contestant| contestant.is_peer());
        let theirs: Vec<(&str, f64)> =
            peers.filter_map(|peer| Some((peer.leaves, median(peer.name)?))).collect();
        let best = |leaves: Option<&str>| {
            let fits = theirs.iter().filter(|(left, _)| leaves.is_none_or(|only| only == *left));
            fits.map(|(_, value)| *value).reduce(|one, other| match table.more {
                true => one.max(other),
                false => one.min(other),
            })
        };
        let mut add = |what: &str, ours: Option<f64>, theirs: Option<f64>| {
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                ratios.insert(format!("{name}: {what}"), rounded(better(ours, theirs)));
            }
        };
        add("jobkit to the ceiling", median(JOBKIT), median(CEILING));
        add("jobkit to claims of 500", median(JOBKIT), median(WIDE));
        add("jobkit to the best peer", median(JOBKIT), best(None));
        add("history kept, to the best peer without", median(KEPT), best(Some("nothing")));
        add("history kept, to the best peer with", median(KEPT), best(Some("history")));
        // What is a ratio by itself. That the end of a run is faster than its beginning is luck.
        let most = if figure == "last_to_first" { 1.0 } else { f64::INFINITY };
        if ["ratio", "last_to_first", "cost", "thousand"].contains(&figure) {
            add("by itself", median(JOBKIT).map(|ratio| ratio.min(most)), Some(1.0));
        }
    }
    // So are these.
    for (name, figure, what) in OWN {
        if let Some(ratio) = records.median(name, JOBKIT, figure) {
            ratios.insert(format!("{name}: {what}"), rounded(ratio));
        }
    }
    ratios
}

fn rounded(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

/// For later checks, beside what is stored of other workloads.
pub(crate) fn store(ratios: &Ratios) -> Result<()> {
    let mut stored = stored()?.unwrap_or_default();
    stored.extend(ratios.clone());
    std::fs::write(file(), serde_json::to_string_pretty(&stored)? + "\n")?;
    println!("Stored: {}", file().display());
    Ok(())
}

/// Compares with what is stored.
///
/// # Errors
/// When a ratio is smaller than the stored one by more than the margin.
pub(crate) fn check(ratios: &Ratios) -> Result<()> {
    let Some(stored) = stored()? else {
        println!("No ratios are stored: run scripts/bench --store on a quiet machine.");
        return Ok(());
    };
    let worse = worse(ratios, &stored);
    if !worse.is_empty() {
        bail!("worse than bench/ratios.json by more than {MARGIN}:\n{}", worse.join("\n"));
    }
    println!("No ratio is below its stored one by more than {MARGIN} of it.");
    for (what, names) in [
        ("Not measured this time", without(&stored, ratios)),
        ("Not compared, since nothing is stored", without(ratios, &stored)),
    ] {
        if !names.is_empty() {
            println!("{what}: {}.", names.join("; "));
        }
    }
    Ok(())
}

/// Those of one that are missing in the other.
fn without<'a>(these: &'a Ratios, those: &Ratios) -> Vec<&'a str> {
    these.keys().filter(|name| !those.contains_key(*name)).map(String::as_str).collect()
}

/// None when there is no file.
fn stored() -> Result<Option<Ratios>> {
    let text = match std::fs::read_to_string(file()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.context("bench/ratios.json")?,
    };
    serde_json::from_str(&text).context("bench/ratios.json").map(Some)
}

/// What is too small, a line for each.
fn worse(ratios: &Ratios, stored: &Ratios) -> Vec<String> {
    let too_small = |(name, ratio): (&String, &f64)| {
        let before = stored.get(name)?;
        let line = format!("  {name}: {ratio:.2}, stored {before:.2}");
        (*ratio < before * (1.0 - MARGIN)).then_some(line)
    };
    ratios.iter().filter_map(too_small).collect()
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ratios.json")
}

#[cfg(test)]
mod tests {
    use super::super::contestant;
    use super::super::record::{Figures, Record};
    use super::*;

    fn record(workload: &'static str, contestant: &'static str, figure: f64) -> Record {
        let name = match workload {
            "latency" => "p50",
            "fleet" => "to_one",
            _ => "jobs_per_s",
        };
        let figures = Figures::from([(name, figure)]);
        Record { workload, contestant, round: 1, figures, failed: None }
    }

    #[test]
    fn ratios_are_to_the_best_peer_whichever_way_is_better() {
        let records = Records(vec![
            record("drain", JOBKIT, 90.0),
            record("drain", KEPT, 60.0),
            record("drain", CEILING, 100.0),
            record("drain", "graphile_worker", 45.0),
            record("drain", "awa", 20.0),
            record("fleet", JOBKIT, 0.9),
            record("latency", JOBKIT, 1.0),
            record("latency", "graphile_worker", 2.0),
            record("latency", "awa", 5.0),
        ]);
        let expected = [
            ("drain: history kept, to the best peer with", 3.0),
            ("drain: history kept, to the best peer without", 1.333),
            ("drain: jobkit to the best peer", 2.0),
            ("drain: jobkit to the ceiling", 0.9),
            ("fleet: jobkit to one", 0.9),
            ("latency: jobkit to the best peer", 2.0),
        ];
        let expected = expected.map(|(name, ratio)| (name.to_owned(), ratio));
        assert_eq!(of(&records, &contestant::ALL), Ratios::from(expected));
    }

    #[test]
    fn a_ratio_may_be_smaller_by_the_margin_only() {
        let ratios = |ratio| Ratios::from([("drain".to_owned(), ratio)]);
        assert!(worse(&ratios(0.81), &ratios(1.0)).is_empty());
        assert_eq!(worse(&ratios(0.79), &ratios(1.0)), ["  drain: 0.79, stored 1.00"]);
        assert!(worse(&ratios(0.1), &Ratios::new()).is_empty());
    }
}
