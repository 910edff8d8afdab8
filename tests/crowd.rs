//! A queue after a busy day, and all that can be looked at in it.

use sqlx::{AssertSqlSafe, PgPool};

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Ended jobs.
    pub finished: u32,
    /// Jobs that may be claimed; a tenth as many are scheduled.
    pub ready: u32,
    /// Jobs that wait for a permit.
    pub blocked: u32,
    /// Dead letters.
    pub dead: u32,
}

/// What a page may cost.
#[derive(Debug)]
pub struct Page {
    /// Its path and query, below the mount.
    pub path: String,
    /// Statements that it may run, those that open its connections among them.
    pub statements: usize,
}

/// The pages, by what they may cost: statements first. In braces a job that is in that place.
const PAGES: &str = "
    11 /
    11 /?range=7d
    4 /jobs
    4 /jobs?state=ready
    4 /jobs?state=scheduled
    4 /jobs?state=retrying
    4 /jobs?state=running
    4 /jobs?state=blocked
    4 /jobs?state=finished
    4 /jobs?state=discarded
    4 /jobs?state=cancelled
    12 /jobs?q=kind:kind_3
    12 /jobs?q=kind:nobody
    12 /jobs?q=queue:queue_5
    12 /jobs?q=tag:campaign
    12 /jobs?q=key:account-5
    12 /jobs?q=error:timed
    12 /jobs?q=error:nobody
    8 /jobs?q=worker:7
    12 /jobs?q=args.order_id:123
    12 /jobs?q=args.account:nobody&state=finished
    6 /jobs?q=id:{finished}
    6 /jobs?q=id:{blocked}
    6 /jobs/{finished}
    5 /jobs/{ready}
    5 /jobs/{scheduled}
    4 /jobs/{running}
    5 /jobs/{blocked}
    6 /queues
    2 /queues/queue?queue=queue_3
    3 /kinds
    2 /kinds/kind?kind=kind_3
    2 /workers
    3 /workers/7
    4 /concurrency
    4 /concurrency?only=limit
    4 /concurrency?only=blocked
    4 /concurrency?group=kind_7
    4 /concurrency/key?group=kind_7&key=account-0
    8 /dead
    4 /dead/entries
    4 /dead/entries?kind=kind_3
    4 /dead/entries?kind=nobody
    4 /dead/entries?key=account-2
    4 /dead/entries?state=resolved
    2 /dead/{dead}
    2 /operations
    2 /operations/new?verb=cancel&q=kind:kind_3
    3 /operations/new?verb=replay&kind=kind_3
    8 /operations/new?verb=cancel&only=rows&row={ready}&row={blocked}&row={running}
    2 /operations/new?verb=replay&only=rows&row={dead}
    4 /operations/1
    13 /system
    2 /audit
    2 /audit?actor=nobody
    7 /api/v1/overview
    6 /api/v1/queues
    3 /api/v1/kinds
    2 /api/v1/workers
    2 /api/v1/groups
    2 /api/v1/semaphores
    2 /api/v1/jobs
    2 /api/v1/jobs?state=finished
    2 /api/v1/jobs?state=ready&q=queue:queue_3
    5 /api/v1/jobs/{blocked}
    2 /api/v1/operations
    2 /api/v1/dead-letters
    2 /api/v1/dead-letters/groups
    2 /api/v1/dead-letters/{dead}
    2 /api/v1/audit
    15 /metrics
";

/// Where the job of a word in braces is found.
const JOBS: [(&str, &str); 6] = [
    ("{finished}", "select min(job_id) + 10 from jobkit.finished"),
    ("{ready}", "select max(job_id) from jobkit.ready where queue = 'queue_3'"),
    ("{scheduled}", "select max(job_id) from jobkit.scheduled"),
    ("{running}", "select job_ids[10] from jobkit.claims where worker_id = 7"),
    ("{blocked}", "select max(job_id) from jobkit.blocked_executions"),
    ("{dead}", "select max(id) from jobkit.dead_letters"),
];

impl Crowd {
    /// Fills an empty queue. It is as a database is whose autovacuum keeps up.
    ///
    /// # Errors
    /// What the database says.
    pub async fn fill(self, pool: &PgPool) -> sqlx::Result<()> {
        let Self { finished, ready, blocked, dead } = self;
        let sizes = format!(
            "set local crowd.finished = {finished}; set local crowd.ready = {ready};
            set local crowd.blocked = {blocked}; set local crowd.dead = {dead};"
        );
        let sql = [&sizes, include_str!("crowd.sql")].concat();
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?;
        sqlx::raw_sql("vacuum analyze").execute(pool).await.map(drop)
    }

    /// Everything that can be looked at in it.
    ///
    /// # Errors
    /// What the database says.
    pub async fn pages(pool: &PgPool) -> sqlx::Result<Vec<Page>> {
        let mut text = PAGES.to_owned();
        for (word, sql) in JOBS {
            let id: i64 = sqlx::query_scalar(sql).fetch_one(pool).await?;
            text = text.replace(word, &id.to_string());
        }
        let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
        Ok(lines
            .map(|(statements, path)| Page {
                path: path.to_owned(),
                statements: statements.parse().unwrap_or(0),
            })
            .collect())
    }
}
