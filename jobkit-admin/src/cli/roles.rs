//! Roles of the database.

use jobkit::admin::roles;
use serde_json::json;

use super::answer::{Answer, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Roles {
    /// The prefix of the roles' names: 1 to 40 lowercase letters, digits and underscores
    ///
    /// Roles are shared by all databases of a server: for a second database use another prefix.
    #[arg(long, default_value = roles::PREFIX)]
    prefix: String,
}

impl Roles {
    /// Prints the SQL; an operator applies it.
    pub(super) fn sql(&self) -> Result<Answer, Failure> {
        let sql = roles::sql(&self.prefix).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Answer::new(json!({"sql": sql}), sql.clone()))
    }
}
