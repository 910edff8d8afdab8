//! The results folder: every record as a line of JSON, the tables, and the plots.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::contestant::{self, CEILING, Contestant, JOBKIT, WIDE};
use super::record::{Record, Records, Spread};
use super::workload::{self, Column, Table, Workload};
use super::{Options, plot};
use crate::server::Server;

/// What is told of a run.
pub(crate) struct Report {
    pub(crate) folder: PathBuf,
    lines: File,
    /// What the figures depend on.
    shape: Vec<(&'static str, String)>,
    /// Who does not take part, and why.
    skipped: Vec<(&'static str, String)>,
    versions: Vec<(&'static str, String)>,
}

/// The columns of the table for the README: workload, figure, heading, digits.
const SUMMARY: [(Workload, Column); 7] = [
    (Workload::Drain, ("jobs_per_s", "drain, jobs/s", 0)),
    (Workload::Fleet, ("jobs_per_s", "4 processes", 0)),
    (Workload::Bulk, ("jobs_per_s", "bulk enqueue", 0)),
    (Workload::EnqueueMany, ("jobs_per_s", "16 producers", 0)),
    (Workload::Latency, ("p50", "latency p50 ms", 1)),
    (Workload::Latency, ("p99", "p99 ms", 1)),
    (Workload::Steady, ("p99_last", "p99 ms, pinned", 0)),
];

impl Report {
    pub(crate) async fn begin(options: &Options, server: &Server) -> Result<Self> {
        let date: String = sqlx::query_scalar("select to_char(now(), 'YYYY-MM-DD-HH24MI')")
            .fetch_one(&server.admin)
            .await?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = match (&options.results, options.quick) {
            (Some(folder), _) => folder.clone(),
            (None, true) => root.join("../target/bench"),
            (None, false) => root.join("results").join(&date),
        };
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let mut shape = vec![("date", date), ("command", command())];
        shape.extend(commit().map(|commit| ("commit", commit)));
        shape.extend(server.shape().await?);
        let folder = folder.canonicalize()?;
        let lines = File::create(folder.join("records.jsonl"))?;
        Ok(Self { folder, lines, shape, skipped: Vec::new(), versions: Vec::new() })
    }

    /// Those who take part. Who is skipped is told at once, and in the tables; that is
    /// neither jobkit nor the ceiling.
    pub(crate) fn prepare(&mut self, options: &Options) -> Result<Vec<Contestant>> {
        let mut found = Vec::new();
        for contestant in contestant::ALL {
            let name = contestant.name;
            if !options.wants(&contestant) {
                self.skipped.push((name, "it was not asked for".to_owned()));
                continue;
            }
            eprintln!("building {name} …");
            if let Err(error) = contestant.prepare() {
                if !contestant.is_peer() {
                    return Err(error.context(name));
                }
                eprintln!("SKIPPED {name}: {error:#}");
                self.skipped.push((name, format!("{error:#}")));
                continue;
            }
            self.versions.push((name, contestant.version()));
            found.push(contestant);
        }
        Ok(found)
    }

    /// Refuses to keep ratios to the best of those who could be built.
    pub(crate) fn may_store(&self, options: &Options) -> Result<()> {
        let names: Vec<_> = self.skipped.iter().map(|(name, _)| *name).collect();
        let complete = names.is_empty() || !options.store;
        ensure!(complete, "--store is for runs with all contestants: without {}", names.join(", "));
        Ok(())
    }

    /// Keeps a record, and tells of it.
    pub(crate) fn note(&mut self, workload: Workload, record: &Record) -> Result<()> {
        writeln!(self.lines, "{}", serde_json::to_string(record)?)?;
        let Record { contestant, round, figures, failed, .. } = record;
        let shown: Vec<String> = workload
            .table()
            .columns
            .iter()
            .filter_map(|(figure, heading, digits)| {
                Some(format!("{heading} {}", number(*figures.get(figure)?, *digits)))
            })
            .collect();
        let shown = failed.as_ref().map_or(shown.join(", "), |why| format!("FAILED: {why}"));
        eprintln!("round {round} {:<10} {contestant:<24} {shown}", record.workload);
        Ok(())
    }

    /// Writes tables and plots.
    pub(crate) fn write(&self, records: &Records) -> Result<()> {
        let all = self.markdown(records) + "\n" + &self.details(records);
        fs::write(self.folder.join("results.md"), all)?;
        for workload in workload::ALL {
            let table = workload.table();
            let bars = bars(&table, records);
            if bars.len() > 1 {
                let svg = plot::bars(table.title, table.columns[0].1, table.columns[0].2, &bars);
                fs::write(self.folder.join(format!("{}.svg", table.name)), svg)?;
            }
        }
        Ok(())
    }

    /// What goes into the README: the shape of the run, and one table.
    pub(crate) fn markdown(&self, records: &Records) -> String {
        let shape: Vec<String> =
            self.shape.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let mut rows = vec![vec!["".to_owned(), "leaves".to_owned()]];
        rows[0].extend(SUMMARY.iter().map(|(_, (_, heading, _))| (*heading).to_owned()));
        for contestant in contestant::ALL {
            let mut row = vec![self.label(contestant.name), contestant.leaves.to_owned()];
            row.extend(SUMMARY.iter().map(|(workload, (figure, _, digits))| {
                let median = records.median(workload.table().name, contestant.name, figure);
                median.map_or("–".to_owned(), |median| number(median, *digits))
            }));
            if row[2..].iter().any(|cell| cell != "–") {
                rows.push(row);
            }
        }
        let skipped: Vec<String> = self
            .skipped
            .iter()
            .map(|(name, why)| format!("- skipped: {name}, since {why}\n"))
            .collect();
        format!("{}\n\n{}\n{}", shape.join("; "), table(&rows), skipped.concat())
    }

    /// A table of each workload.
    fn details(&self, records: &Records) -> String {
        let tables = workload::ALL.into_iter().map(|workload| {
            let Table { name, title, columns, .. } = workload.table();
            let contestants = records.contestants(name);
            if contestants.is_empty() {
                return String::new();
            }
            let mut rows = vec![vec!["".to_owned(), "leaves".to_owned()]];
            rows[0].extend(columns.iter().map(|(_, heading, _)| (*heading).to_owned()));
            let mut notes = String::new();
            for contestant in contestants {
                rows.push(self.row(records, name, contestant, columns));
                for remark in records.remarks(name, contestant) {
                    notes.push_str(&format!("- {contestant} {remark}\n"));
                }
            }
            format!("### {title} (`{name}`)\n\n{}\n{notes}\n", table(&rows))
        });
        tables.collect()
    }

    fn row(
        &self,
        records: &Records,
        workload: &str,
        contestant: &'static str,
        columns: &[Column],
    ) -> Vec<String> {
        let leaves = contestant::ALL.iter().find(|known| known.name == contestant);
        let mut row = vec![self.label(contestant), leaves.map_or("", |c| c.leaves).to_owned()];
        row.extend(columns.iter().map(|(figure, _, digits)| {
            let spread = records.spread(workload, contestant, figure);
            spread.map_or("–".to_owned(), |spread| cell(spread, *digits))
        }));
        row
    }

    /// A name with its version.
    fn label(&self, contestant: &'static str) -> String {
        let version = self.versions.iter().find(|(name, _)| *name == contestant);
        let version = version.map_or("", |(_, version)| version);
        let bold = if contestant == JOBKIT { "**" } else { "" };
        format!("{bold}{contestant}{bold} {version}").trim_end().to_owned()
    }
}

/// The bars of a plot, the first column of the table.
fn bars(table: &Table, records: &Records) -> Vec<plot::Bar> {
    let figure = table.columns[0].0;
    let bar = |contestant| {
        let spread = records.spread(table.name, contestant, figure)?;
        let tone = match contestant {
            CEILING | WIDE => plot::Tone::Reference,
            name if name.starts_with(JOBKIT) => plot::Tone::Ours,
            _ => plot::Tone::Peer,
        };
        Some(plot::Bar { name: contestant, spread, tone })
    };
    records.contestants(table.name).into_iter().filter_map(bar).collect()
}

/// The median, with the least and the greatest.
fn cell(spread: Spread, digits: usize) -> String {
    let median = number(spread.median, digits);
    if spread.least == spread.greatest {
        return median;
    }
    format!("{median} ({}–{})", number(spread.least, digits), number(spread.greatest, digits))
}

/// With a comma after the thousands.
pub(crate) fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        let left = whole.len() - place;
        if place > 0 && left % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

fn table(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let mut text = line(&rows[0]);
    text.push_str(&format!("|---|---|{}\n", "--:|".repeat(rows[0].len() - 2)));
    text.extend(rows[1..].iter().map(line));
    text
}

fn command() -> String {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    format!(
        "`{}`",
        ["scripts/bench".to_owned()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
    )
}

/// The state of the sources, when they come from a repository.
fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let written = [0.0, 999.4, 1000.0, 1_234_567.0, -1234.0].map(|value| number(value, 0));
        assert_eq!(written, ["0", "999", "1,000", "1,234,567", "-1,234"]);
        assert_eq!(number(1234.5678, 2), "1,234.57");
    }

    #[test]
    fn a_figure_shows_its_spread_if_it_has_one() {
        let spread = Spread { least: 1.0, median: 2.0, greatest: 3.0 };
        let same = Spread { least: 2.0, median: 2.0, greatest: 2.0 };
        assert_eq!([cell(spread, 0), cell(same, 0)], ["2 (1–3)", "2"]);
    }
}
