use super::{DatabaseError, SchemaError};

/// Why the schema was not migrated to the version that this binary needs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// A migration in the database differs from the one in this binary.
    #[error(
        "migration {version} of the jobkit schema differs from the one in this binary; undo the \
         edit: an applied migration must not change"
    )]
    Edited {
        /// The migration.
        version: i32,
    },
    /// A database call failed, or this database cannot have the schema.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<SchemaError> for MigrateError {
    fn from(error: SchemaError) -> Self {
        DatabaseError::from(error).into()
    }
}

impl From<sqlx::Error> for MigrateError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}
