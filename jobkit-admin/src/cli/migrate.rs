//! The schema.

use serde_json::json;

use super::answer::Answer;
use super::desk::{Answered, Desk};

#[derive(Debug, clap::Args)]
pub(super) struct Migrate {
    /// Only prints the SQL for an empty database, without connecting
    #[arg(long)]
    pub(super) print_sql: bool,
}

/// The migrations are jobkit's own text: nothing in them needs escaping.
pub(super) fn sql() -> Answer {
    let sql = jobkit::migration_sql();
    Answer::new(json!({"sql": sql}), sql.clone())
}

pub(super) async fn run(desk: &Desk) -> Answered {
    desk.admin.migrate().await?;
    let version = desk.admin.doctor().await?.schema;
    let sentence = format!("The schema is at version {version}.");
    Ok(Answer::done(json!({"version": version}), &sentence))
}
