use super::call::Statement;
use super::executor::Executor;
use super::insert::Insert;
use super::job::{NewJob, sent};
use super::read::{Answer, One};

/// Stores a job, and returns its id.
pub(crate) async fn enqueue<'c>(job: NewJob, executor: impl Executor<'c>) -> sqlx::Result<i64> {
    store::<One<i64>>(&[job]).through(executor).await
}

/// Stores jobs in one statement; the ids come in the order of the jobs.
pub(crate) async fn enqueue_all<'c>(
    jobs: &[NewJob],
    executor: impl Executor<'c>,
) -> sqlx::Result<Vec<i64>> {
    store::<Vec<i64>>(jobs).through(executor).await
}

/// Stores jobs in one statement, some with unique keys. Returns what became of each.
pub(crate) async fn enqueue_unique<'c>(
    jobs: &[NewJob],
    executor: impl Executor<'c>,
) -> sqlx::Result<Vec<(i64, String)>> {
    store::<Vec<(i64, String)>>(jobs).through(executor).await
}

/// Values and arrays are sent in their own types, not as text: that saves the server a fiftieth of
/// the work, and a second copy of all payloads.
fn store<A: Answer>(jobs: &[NewJob]) -> Statement<A> {
    let (sql, parameters) = sent(jobs);
    Statement::with(sql, parameters)
}

/// Stores a job for each kind that subscribes, and returns these jobs.
pub(crate) async fn publish<'c>(
    insert: Insert,
    executor: impl Executor<'c>,
) -> sqlx::Result<Vec<(i64, String)>> {
    let Insert { sql, parameters } = insert;
    let insert = Statement::<Vec<(i64, String)>>::new(sql);
    parameters.into_iter().fold(insert, Statement::bind).through(executor).await
}
