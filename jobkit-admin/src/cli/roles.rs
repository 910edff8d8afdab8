//! Roles of the database.

use jobkit::admin::roles;
use serde_json::json;

use super::answer::{Answer, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Roles {
    /// What the roles' names begin with: 1 to 40 small letters, digits and underscores
    ///
    /// Roles are those of a whole server: a second database of it takes another prefix.
    #[arg(long, default_value = roles::PREFIX)]
    prefix: String,
}

impl Roles {
    /// Printed, and applied by nobody but whoever reads it.
    pub(super) fn sql(&self) -> Result<Answer, Failure> {
        let sql = roles::sql(&self.prefix).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Answer::new(json!({"sql": sql}), sql.clone()))
    }
}
