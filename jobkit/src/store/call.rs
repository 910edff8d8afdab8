use sqlx::PgConnection;
use tracing::Span;

/// One statement of the engine, with its parameters.
pub(crate) trait Call: Sync {
    /// What comes back.
    type Answer: Send;

    /// The span of the call: `jobkit.<verb>` for a transition.
    fn span(&self) -> Span {
        Span::none()
    }

    /// Runs the statement. It may be run again when it was refused for a clash with others.
    fn call(
        &self,
        connection: &mut PgConnection,
    ) -> impl Future<Output = sqlx::Result<Self::Answer>> + Send;
}
