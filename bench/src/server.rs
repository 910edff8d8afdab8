//! The server that is measured.

use std::fs;

use anyhow::{Context, Result};
use private_postgres::Purpose;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

const DATABASE: &str = "jobkit_bench";

/// The one that `DATABASE_URL` names, or the project's own with default durability.
pub(crate) struct Server {
    url: String,
    /// Of its maintenance database.
    pub(crate) admin: PgPool,
}

impl Server {
    pub(crate) async fn find() -> Result<Self> {
        let url = private_postgres::url(Purpose::Demo)?;
        let pool = PgPoolOptions::new().max_connections(2);
        let admin = pool.connect(&url).await.context("the server must be up")?;
        Ok(Self { url, admin })
    }

    /// The benchmark's database, empty; its address.
    pub(crate) async fn fresh(&self) -> Result<String> {
        self.empty(DATABASE).await
    }

    /// An empty database of this name; its address.
    pub(crate) async fn empty(&self, database: &str) -> Result<String> {
        self.drop(database).await?;
        let create = AssertSqlSafe(format!("create database {database}"));
        sqlx::raw_sql(create).execute(&self.admin).await?;
        Ok(elsewhere(&self.url, database))
    }

    pub(crate) async fn drop_database(&self) -> Result<()> {
        self.drop(DATABASE).await
    }

    pub(crate) async fn drop(&self, database: &str) -> Result<()> {
        let drop = AssertSqlSafe(format!("drop database if exists {database} with (force)"));
        sqlx::raw_sql(drop).execute(&self.admin).await?;
        Ok(())
    }

    /// How many transactions the benchmark's database has seen. Backends report within a second.
    pub(crate) async fn transactions(&self) -> Result<i64> {
        let sql = "select xact_commit + xact_rollback from pg_stat_database where datname = $1";
        Ok(sqlx::query_scalar(sql).bind(DATABASE).fetch_one(&self.admin).await?)
    }

    /// What the figures depend on, each with its name.
    pub(crate) async fn shape(&self) -> Result<Vec<(&'static str, String)>> {
        let mut shape = vec![("machine", machine())];
        for name in ["server_version", "shared_buffers", "synchronous_commit", "fsync"] {
            let setting = sqlx::query_scalar("select current_setting($1)").bind(name);
            shape.push((name, setting.fetch_one(&self.admin).await?));
        }
        Ok(shape)
    }
}

/// The address of another database of the same server. Not by sqlx's options: they would add what
/// other clients do not understand.
fn elsewhere(url: &str, database: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, None), |(a, q)| (a, Some(q)));
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..].find('/').map_or(address.len(), |slash| host + slash);
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    format!("{}/{database}{query}", &address[..end])
}

/// Cores, memory and system of this machine.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(String::new(), |kib| format!(", {} GB", (kib + (1 << 19)) >> 20));
    let model = field(&read("/proc/cpuinfo"), "model name");
    let model = model.map_or(String::new(), |model| format!(" ({model})"));
    format!("{cores} cores{model}{memory}, {} {}", std::env::consts::OS, std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::elsewhere;

    #[test]
    fn only_the_database_of_an_address_changes() {
        for (url, changed) in [
            ("postgres://u:p@h:5432/d", "postgres://u:p@h:5432/bench"),
            ("postgres://h", "postgres://h/bench"),
            ("postgres:///d?host=%2Frun%2Fpg", "postgres:///bench?host=%2Frun%2Fpg"),
        ] {
            assert_eq!(elsewhere(url, "bench"), changed);
        }
    }
}
