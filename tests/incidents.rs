//! Incidents that every place where operators look has to name.

use crate::Lab;

/// Something that went wrong, in a database of its own.
#[derive(Debug)]
pub struct Incident {
    /// What programs call it.
    pub what: &'static str,
    /// Words that people are told.
    pub words: &'static [&'static str],
    /// How it comes about.
    sql: &'static str,
}

/// A worker `web-1` of the queue `mail` that knows the kind `note`, and is alive.
const WORKER: &str = "select jobkit.announce('{note}', '{mail}', '{0}', '{20}', '{1 h}', '{null}',
    '{null}'); select jobkit.register(1, 'web-1', '{mail}', '{note}', '1 day', '{8}')";

/// A job of it that has been due for 14 minutes.
const OLD_JOB: &str = "select jobkit.enqueue('note', '{}');
    update jobkit.jobs set created_at = now() - interval '1 h', run_at = now() - interval '14 min'";

/// The incidents, the words of each being those of no other.
pub const INCIDENTS: [Incident; 10] = [
    Incident {
        what: "no_worker",
        words: &["no worker is alive"],
        sql: "delete from jobkit.workers; select jobkit.enqueue('note', '{}')",
    },
    // Jobs that are blocked or not due yet are in need of one as well.
    Incident {
        what: "no_worker",
        words: &["no worker is alive"],
        sql: "select jobkit.enqueue('note', '{}', p_run_at => now() + interval '1 h');
            update jobkit.workers set stopping = true",
    },
    Incident { what: "late_queue", words: &["mail", "14 min", "0 of 8 slots"], sql: OLD_JOB },
    Incident {
        what: "full_queue",
        words: &["mail", "is full", "1 job may wait"],
        sql: "select jobkit.enqueue('note', '{}'); select jobkit.bound_queue('mail', 1)",
    },
    Incident {
        what: "unserved",
        words: &["nobody-knows", "has ever announced"],
        sql: "select jobkit.enqueue('note', '{}');
            update jobkit.jobs set kind = 'nobody-knows';
            update jobkit.ready set kind = 'nobody-knows'",
    },
    Incident {
        what: "unserved",
        words: &["note", "no live worker serves", "elsewhere"],
        sql: "select jobkit.enqueue('note', '{}', p_queue => 'elsewhere',
            p_run_at => now() + interval '1 min')",
    },
    Incident {
        what: "late_worker",
        words: &["web-2", "silent"],
        sql: "select jobkit.register(2, 'web-2', '{mail}', '{note}', '1 ms')",
    },
    Incident {
        what: "lost_worker",
        words: &["web-2", "lost", "1 job"],
        sql: "select jobkit.register(2, 'web-2', '{mail}', '{note}', '1 day', '{8}');
            select jobkit.enqueue('note', '{}');
            select from jobkit.claim(2, 1, '{note}', '{mail}', '{1}');
            update jobkit.workers set lease = '1 ms', lease_until = now() where id = 2;
            select jobkit.reap_workers(); select jobkit.reap_claim(2, 1)",
    },
    Incident {
        what: "stuck_operation",
        words: &["operation", "cancel", "14 min"],
        sql: "insert into jobkit.operations (verb, filter, idempotency_key, total, up_to, until,
            created_at) values ('cancel', '{}', 'k', 7, 0, now(), now() - interval '14 min')",
    },
    Incident {
        what: "paused_queue",
        words: &["mail", "is paused", "by ada"],
        sql: concat!(
            "select jobkit.enqueue('note', '{}');
            update jobkit.jobs set created_at = now() - interval '1 h',
                run_at = now() - interval '14 min';",
            "select jobkit.pause('mail', 'ada', 'a reason')"
        ),
    },
];

impl Incident {
    /// Lets it happen in a lab of its own, and nothing else.
    pub async fn stage(&self) -> Lab {
        let lab = Lab::new().await;
        lab.run("select jobkit.finished_prepare(2)").await;
        lab.run(WORKER).await;
        // Workers are not reaped in the first moments of a server.
        lab.until("pg_postmaster_start_time() < clock_timestamp() - interval '1 s'").await;
        lab.run(self.sql).await;
        lab
    }
}
