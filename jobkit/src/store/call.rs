use std::marker::PhantomData;

use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, Encode, PgConnection, Postgres, Type};
use tracing::Span;

use super::executor::{self, Executor};
use super::read::Answer;

/// A request to the database: a [`Statement`], or something that takes more than one.
pub(crate) trait Call: Sync {
    /// What comes back.
    type Answer: Send;

    /// The span of the call: `jobkit.<verb>` for a transition.
    fn span(&self) -> Span {
        Span::none()
    }

    /// Runs it. It may be run again after a conflict with other transactions.
    fn call(
        &self,
        connection: &mut PgConnection,
    ) -> impl Future<Output = sqlx::Result<Self::Answer>> + Send;
}

/// One statement with its parameters, and what its rows are read as.
pub(crate) struct Statement<A: Answer> {
    sql: &'static str,
    parameters: PgArguments,
    /// Why a parameter cannot be sent.
    unsendable: Option<String>,
    span: Span,
    answer: PhantomData<fn() -> A>,
}

impl<A: Answer> Statement<A> {
    pub(crate) fn new(sql: &'static str) -> Self {
        Self {
            sql,
            parameters: PgArguments::default(),
            unsendable: None,
            span: Span::none(),
            answer: PhantomData,
        }
    }

    /// With all its parameters, unless they cannot be sent.
    pub(super) fn with(sql: &'static str, parameters: Result<PgArguments, BoxDynError>) -> Self {
        let (parameters, unsendable) = match parameters {
            Ok(parameters) => (parameters, None),
            Err(error) => (PgArguments::default(), Some(error.to_string())),
        };
        Self { parameters, unsendable, ..Self::new(sql) }
    }

    pub(crate) fn spanned(self, span: Span) -> Self {
        Self { span, ..self }
    }

    /// Adds the next parameter.
    pub(crate) fn bind<'t>(mut self, value: impl Encode<'t, Postgres> + Type<Postgres>) -> Self {
        if let Err(error) = self.parameters.add(value) {
            self.unsendable.get_or_insert_with(|| error.to_string());
        }
        self
    }

    fn sendable(&self) -> sqlx::Result<()> {
        let why = self.unsendable.as_ref();
        why.map_or(Ok(()), |why| Err(sqlx::Error::Encode(why.clone().into())))
    }

    /// Runs it through the application's executor.
    pub(super) async fn through<'c>(self, executor: impl Executor<'c>) -> sqlx::Result<A::Read> {
        self.sendable()?;
        A::read(&executor.run(self.sql, self.parameters).await?)
    }
}

impl<A: Answer> Call for Statement<A> {
    type Answer = A::Read;

    fn span(&self) -> Span {
        self.span.clone()
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<A::Read> {
        self.sendable()?;
        A::read(&executor::run(connection, self.sql, self.parameters.clone()).await?)
    }
}

/// A column of many rows, as an array.
pub(super) fn column<'a, R, T>(rows: &'a [R], of: impl FnMut(&'a R) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

/// A column without any value is sent empty: the function takes missing values for null.
pub(super) fn sparse<T>(column: impl Iterator<Item = Option<T>>) -> Vec<Option<T>> {
    let column: Vec<_> = column.collect();
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

/// A table of statements. Each becomes a function that takes the parameters, `$1` first, and
/// returns the [`Statement`] for [`Link::call`](super::Link::call):
///
/// ```text
/// statements! {
///     /// Renews the lease.
///     fn renew_lease(worker: i64, stopping: bool) -> One<Pulse>
///         = "select alive, lapsed, stop, cancel from jobkit.heartbeat($1, $2)",
///         trace_span!("jobkit.heartbeat", worker);
/// }
/// let pulse: Pulse = link.call(&renew_lease(worker, false)).await?;
/// ```
///
/// - A parameter has any type that sqlx can send.
/// - The answer is nothing, `()`; the only row, `One<R>`; a row or none, `Option<R>`; or all rows,
///   `Vec<R>`. How rows are read is in [`read`](super::read).
/// - SQL of a few lines is written here, otherwise in a file: `= include_str!("sql/….sql")`.
/// - A transition has a span at the end; a read has none.
macro_rules! statements {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($parameter:ident: $type:ty),* $(,)?) -> $answer:ty
            = $sql:expr $(, $span:expr)?;
    )*) => {$(
        $(#[$doc])*
        pub(crate) fn $name($($parameter: $type),*) -> $crate::store::Statement<$answer> {
            $crate::store::Statement::new($sql)$(.spanned($span))?$(.bind($parameter))*
        }
    )*};
}

pub(crate) use statements;
