use std::time::Duration;

use sqlx::PgPool;

/// Vacuums and analyses a database in which nobody writes, until the server knows of every page of
/// jobkit's tables that everybody sees all of it.
///
/// One vacuum may pass over pages: of rows that a snapshot does not see yet, which autovacuum or a
/// session that begins may have, of dead rows that are too few to be worth a look at the indexes,
/// and those somebody holds. Plans and the number of blocks that are read depend on it.
///
/// # Errors
/// What the database says.
///
/// # Panics
/// When it knows not after a hundred times.
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
