use std::time::Duration;

use sqlx::{AssertSqlSafe, PgPool};

use crate::lab::wait;

/// Vacuums and analyses a table in which nobody writes (with no name all of them), until the server
/// knows of every page (of jobkit's tables) that everybody sees all of it.
///
/// One vacuum may pass over pages: those with rows that some snapshot does not see yet, that of
/// autovacuum or of a session that begins, those with dead rows that are too few for a look at the
/// indexes, and those that somebody holds. Plans depend on it, and how many blocks are read.
pub(crate) async fn vacuum(pool: &PgPool, table: &str) {
    let vacuum = format!("vacuum (analyze, index_cleanup on) {table}");
    let unseen = "select count(*) from pg_class where relkind = 'r' and relallvisible < relpages
        and (oid = to_regclass(nullif($1, ''))
            or $1 = '' and relnamespace = 'jobkit'::regnamespace)";
    let all_seen = || async {
        let vacuumed = sqlx::raw_sql(AssertSqlSafe(vacuum.clone())).execute(pool).await;
        vacuumed.expect("the table is there");
        let unseen = sqlx::query_scalar::<_, i64>(unseen).bind(table).fetch_one(pool).await;
        unseen.expect("the server is up") == 0
    };
    // Among millions of rows one vacuum takes its time.
    wait(Duration::from_secs(300), "everybody sees every page", all_seen).await;
}
