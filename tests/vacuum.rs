use std::time::Duration;

use sqlx::PgPool;

/// Vacuums and analyses a database in which nobody writes, until the server knows of every page of
/// jobkit's tables that everybody sees all of it.
///
/// One vacuum may pass over pages: those with rows that some snapshot does not see yet, that of
/// autovacuum or of a session that begins, those with dead rows that are too few for a look at the
/// indexes, and those that somebody holds. Plans depend on it, and how many blocks are read.
///
/// # Errors
/// What the database says.
///
/// # Panics
/// When the server still does not know after a hundred.
pub(crate) async fn vacuum(pool: &PgPool) -> sqlx::Result<()> {
    let unseen = "select count(*) from pg_class where relnamespace = 'jobkit'::regnamespace
        and relkind = 'r' and relallvisible < relpages";
    for _ in 0..100 {
        sqlx::raw_sql("vacuum (analyze, index_cleanup on)").execute(pool).await?;
        if sqlx::query_scalar::<_, i64>(unseen).fetch_one(pool).await? == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("after a hundred vacuums not everybody sees every page");
}
