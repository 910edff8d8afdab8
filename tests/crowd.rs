//! A queue after a busy day, and all that can be looked at in it.

use sqlx::{AssertSqlSafe, PgPool};

use crate::vacuum::vacuum;

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
    /// Blocks that they may go to, in what a test fills.
    pub blocks: i64,
}

/// The pages, by what they may cost: statements and blocks first. In braces a job that is in that
/// place.
const PAGES: &str = "
    19 10500 /
    19 11500 /?range=7d
    4 1700 /jobs
    4 1100 /jobs?state=ready
    4 1400 /jobs?state=scheduled
    4 1900 /jobs?state=retrying
    4 1500 /jobs?state=running
    4 1500 /jobs?state=blocked
    4 480 /jobs?state=finished
    4 370 /jobs?state=discarded
    4 370 /jobs?state=cancelled
    12 32000 /jobs?q=kind:kind_3
    12 31000 /jobs?q=kind:nobody
    12 29000 /jobs?q=queue:queue_5
    12 33000 /jobs?q=tag:campaign
    12 32000 /jobs?q=key:account-5
    12 16000 /jobs?q=error:timed
    12 15000 /jobs?q=error:nobody
    8 2200 /jobs?q=worker:7
    12 28000 /jobs?q=args.order_id:123
    12 9300 /jobs?q=args.account:nobody&state=finished
    6 80 /jobs?q=id:{finished}
    6 140 /jobs?q=id:{blocked}
    6 62 /jobs/{finished}
    6 530 /jobs/{ready}
    6 530 /jobs/{scheduled}
    4 100 /jobs/{running}
    6 550 /jobs/{blocked}
    2 60 /batches
    2 10 /batches?state=open
    4 380 /batches/1
    4 20 /batches/1?only=dead
    4 25 /batches/1?only=finished
    12 13000 /jobs?q=batch:1
    12 13000 /jobs?q=batch:1&state=finished
    7 5400 /queues
    2 140 /queues/queue?queue=queue_3
    2 40 /schedules
    3 220 /kinds
    2 140 /kinds/kind?kind=kind_3
    2 30 /topics
    2 25 /workers
    3 480 /workers/7
    4 610 /concurrency
    4 610 /concurrency?only=limit
    4 1200 /concurrency?only=blocked
    4 610 /concurrency?group=kind_7
    4 98 /concurrency/key?group=kind_7&key=account-0
    8 1400 /dead
    4 79 /dead/entries
    4 160 /dead/entries?kind=kind_3
    4 130 /dead/entries?kind=nobody
    4 38 /dead/entries?key=account-2
    4 77 /dead/entries?state=resolved
    2 49 /dead/{dead}
    2 25 /operations
    2 15000 /operations/new?verb=cancel&q=kind:kind_3
    3 97 /operations/new?verb=replay&kind=kind_3
    8 160 /operations/new?verb=cancel&only=rows&row={ready}&row={blocked}&row={running}
    2 25 /operations/new?verb=replay&only=rows&row={dead}
    4 26 /operations/1
    27 14000 /system
    2 50 /audit
    2 35 /audit?actor=nobody
    17 9200 /api/v1/overview
    6 5400 /api/v1/queues
    3 220 /api/v1/kinds
    2 25 /api/v1/workers
    2 60 /api/v1/limits
    2 610 /api/v1/semaphores
    2 1500 /api/v1/jobs
    2 260 /api/v1/jobs?state=finished
    2 940 /api/v1/jobs?state=ready&q=queue:queue_3
    6 550 /api/v1/jobs/{blocked}
    2 60 /api/v1/batches
    2 10 /api/v1/batches/1
    2 25 /api/v1/operations
    2 71 /api/v1/dead-letters
    2 1400 /api/v1/dead-letters/groups
    2 28 /api/v1/dead-letters/{dead}
    2 50 /api/v1/audit
    27 14000 /metrics
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
        vacuum(pool, "").await;
        Ok(())
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
        let page = |line: &str| {
            let mut words = line.split_whitespace();
            Some(Page {
                statements: words.next()?.parse().ok()?,
                blocks: words.next()?.parse().ok()?,
                path: words.next()?.to_owned(),
            })
        };
        Ok(text.lines().filter_map(page).collect())
    }
}
