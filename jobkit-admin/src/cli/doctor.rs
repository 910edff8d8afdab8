//! The doctor: problems found in the database.

use jobkit::admin::Severity;
use jobkit::admin::doctor::{Check, Finding, TableSize};
use serde_json::{Value, json};

use super::answer::{Answer, plain, table};
use super::arguments::Late;
use super::desk::{Answered, Desk};
use crate::format::show::{bytes, large};

/// The names that [`Check::as_str`] returns.
const CHECKS: [&str; 13] = [
    "schema",
    "violations",
    "indexes",
    "durability",
    "horizon",
    "bloat",
    "kinds",
    "attention",
    "upkeep",
    "clock",
    "publication",
    "ids",
    "zones",
];

#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// Also scans whole tables for rows that must not exist, for a minute at most
    #[arg(long)]
    thorough: bool,
    /// Shows what this check finds, but does not count it as a problem
    #[arg(long, value_name = "CHECK", value_parser = CHECKS)]
    ignore: Vec<String>,
    #[command(flatten)]
    late: Late,
}

impl Doctor {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        let mut diagnosis = self.late.of(&desk.admin).doctor().await?;
        if self.thorough && diagnosis.schema > 0 {
            diagnosis.findings.retain(|finding| finding.check != Check::Violations);
            diagnosis.findings.extend(desk.admin.violations().await?);
            diagnosis.sort();
        }
        let findings = &diagnosis.findings;
        let wrong = findings.iter().any(|finding| self.is_wrong(finding));
        let json = json!({
            "ok": !wrong,
            "schema": diagnosis.schema,
            "known": diagnosis.known,
            "zones": diagnosis.zones,
            "findings": findings.iter().map(of_finding).collect::<Vec<_>>(),
            "tables": diagnosis.tables.iter().map(of_table).collect::<Vec<_>>(),
        });
        let tables = diagnosis.tables.iter().map(row).collect();
        let text = [
            findings.iter().map(paragraph).collect(),
            if wrong { String::new() } else { "Nothing is wrong.\n\n".to_owned() },
            format!("Time zones of this process: tzdata {}\n\n", plain(&diagnosis.zones)),
            table(["table", "rows", "dead", "size"], tables),
        ];
        Ok(Answer::new(json, text.concat()).wrong(wrong))
    }

    fn is_wrong(&self, finding: &Finding) -> bool {
        let ignored = self.ignore.iter().any(|check| check == finding.check.as_str());
        finding.severity > Severity::Note && !ignored
    }
}

fn of_finding(finding: &Finding) -> Value {
    json!({
        "severity": finding.severity.as_str(),
        "check": finding.check.as_str(),
        "found": finding.found,
        "advice": finding.advice,
    })
}

fn of_table(table: &TableSize) -> Value {
    json!({"table": table.table, "live": table.live, "dead": table.dead, "bytes": table.bytes})
}

fn paragraph(finding: &Finding) -> String {
    let severity = finding.severity.as_str().to_uppercase();
    let (check, found) = (finding.check.as_str(), plain(&finding.found));
    format!("{severity} {check}: {found}\n  {}\n\n", plain(&finding.advice))
}

fn row(size: &TableSize) -> [String; 4] {
    [size.table.clone(), large(&size.live), large(&size.dead), bytes(&size.bytes)]
}
