//! Incidents that every place where operators look has to name.

use crate::Lab;

/// Something that went wrong, in a database of its own.
#[derive(Debug)]
pub struct Incident {
    /// What programs call it.
    pub what: &'static str,
    /// How bad it is.
    pub severity: &'static str,
    /// Words that people are told.
    pub words: &'static [&'static str],
    /// How it comes about.
    sql: &'static str,
    /// How it is over.
    end: &'static str,
    /// How it happens again before that.
    again: &'static str,
}

/// A worker `web-1` of the queue `mail` that knows the kind `note`, and is alive.
const WORKER: &str = "select jobkit.announce('{note}', '{mail}', '{0}', '{20}', '{1 h}', '{pay}',
    '{2}', p_key_optional => '{t}');
    select jobkit.announce_limits(
                '[{\"scope\": \"group\", \"name\": \"pay\", \"running\": 2}]');
    select jobkit.register(1, 'web-1:7', '{mail}', '{note}', '1 day', '{8}')";

/// Another one starts.
const STARTS: &str = "select jobkit.register(9, 'web-9:7', '{mail}', '{note}', '1 day', '{8}')";

/// Another one starts, and stops.
const COMES_AND_GOES: &str = "select jobkit.register(8, 'web-8:7', '{mail}', '{note}', '1 day',
    '{8}'); select jobkit.deregister(8)";

/// It was acknowledged before what is so now began.
const BEFORE: &str = "update jobkit.acknowledged set up_to = now() - interval '20 min'";

/// A job of it that has been due for 14 minutes.
const OLD_JOB: &str = "select jobkit.enqueue('note', '{}');
    update jobkit.jobs set created_at = now() - interval '1 h', run_at = now() - interval '14 min'";

/// No job waits any more.
const DONE: &str =
    "delete from jobkit.claims; delete from jobkit.ready; delete from jobkit.scheduled;
    delete from jobkit.jobs";

/// The incidents: what rings, and only that; with the words of no other.
pub const INCIDENTS: &[Incident] = &[
    Incident {
        what: "no_worker",
        severity: "critical",
        words: &["no worker is alive", "there is 1 job"],
        sql: "delete from jobkit.workers; select jobkit.enqueue('note', '{}')",
        end: STARTS,
        again: COMES_AND_GOES,
    },
    // Jobs that are blocked or not due yet are in need of one as well.
    Incident {
        what: "no_worker",
        severity: "critical",
        words: &["no worker is alive", "there is 1 job"],
        sql: "select jobkit.enqueue('note', '{}', p_run_at => now() + interval '1 h');
            update jobkit.workers set stopping = true",
        end: STARTS,
        again: COMES_AND_GOES,
    },
    // A schedule is work, and that it is overdue follows.
    Incident {
        what: "no_worker",
        severity: "critical",
        words: &["no worker is alive", "there is 1 schedule"],
        sql: "select jobkit.deregister(1); select jobkit.create_schedule('{\"name\": \"nightly\",
            \"times\": \"every 1m\", \"next_at\": \"2026-01-01T00:00:00Z\", \"kind\": \"note\",
            \"catch_up\": \"none\", \"catch_up_max\": 1, \"catch_up_window\": \"0\",
            \"overlap\": \"allow\", \"jitter\": \"0\"}', '{}', null)",
        end: "select jobkit.delete_schedule('nightly', null)",
        again: COMES_AND_GOES,
    },
    // A new database: that nobody serves its kinds follows.
    Incident {
        what: "no_worker",
        severity: "critical",
        words: &["no worker is alive", "there are 9 jobs"],
        sql: "select jobkit.enqueue('note', '{}') from generate_series(1, 9);
            update jobkit.jobs set kind = 'kind-' || id, concurrency_group = null;
            update jobkit.ready set kind = 'kind-' || job_id;
            delete from jobkit.kinds; delete from jobkit.workers",
        end: DONE,
        again: COMES_AND_GOES,
    },
    // Killed with jobs in hand, and others blocked behind a rate: nothing is wrong with the rows.
    Incident {
        what: "no_worker",
        severity: "critical",
        words: &["no worker is alive (silent: web-1:7)", "there is 1 job"],
        sql: concat!(
            "select jobkit.announce_limits(
                '[{\"scope\": \"group\", \"name\": \"pay\", \"running\": 2,
                    \"every\": \"10 min\", \"burst\": 1}]');
            select jobkit.enqueue('note', '{}', p_concurrency_key => 'a')
            from generate_series(1, 2);
            select from jobkit.claim(1, 1, '{note}', '{mail}', '{8}');
            select jobkit.settle(1, jobkit.outcomes('{1}', (select job_ids from jobkit.claims),
                '{finish}'));
            update jobkit.due_keys set due_at = now() - interval '1 min';
            update jobkit.blocked_executions set since = now() - interval '20 min';
            update jobkit.semaphores set tat = now() - interval '1 min';",
            "update jobkit.workers set lease = '1 s', lease_until = now() - interval '17 s',
                heartbeat_at = now() - interval '18 s'"
        ),
        end: "update jobkit.workers set lease_until = now() + interval '1 day', lease = '1 day';
            select jobkit.grant_due(9)",
        again: COMES_AND_GOES,
    },
    Incident {
        what: "late_queue",
        severity: "warning",
        words: &["mail", "14 min", "0 of 8 slots"],
        sql: OLD_JOB,
        end: DONE,
        again: BEFORE,
    },
    // What a dead worker has in hand takes none of the slots.
    Incident {
        what: "late_queue",
        severity: "warning",
        words: &["14 min", "0 of 8 slots taken, 3 held by workers that are gone"],
        sql: concat!(
            "select jobkit.register(2, 'web-2:7', '{mail}', '{note}', '1 day', '{8}');
            select jobkit.enqueue('note', '{}') from generate_series(1, 3);
            select from jobkit.claim(2, 1, '{note}', '{mail}', '{8}');
            delete from jobkit.workers where id = 2;",
            "select jobkit.enqueue('note', '{}');
            update jobkit.jobs set created_at = now() - interval '1 h',
                run_at = now() - interval '14 min'"
        ),
        end: DONE,
        again: BEFORE,
    },
    Incident {
        what: "full_queue",
        severity: "warning",
        words: &["mail", "is full", "1 job may wait"],
        sql: "select jobkit.enqueue('note', '{}');
            select jobkit.set_limit('queue', 'mail', null, '{\"waiting\": 1}')",
        end: "select jobkit.set_limit('queue', 'mail', null, '{\"waiting\": null}')",
        again: "select jobkit.set_limit('queue', 'mail', null, '{\"waiting\": null}');
            select jobkit.set_limit('queue', 'mail', null, '{\"waiting\": 1}')",
    },
    Incident {
        what: "unserved",
        severity: "warning",
        words: &["nobody-knows", "has ever announced"],
        sql: "select jobkit.enqueue('note', '{}');
            update jobkit.jobs set kind = 'nobody-knows';
            update jobkit.ready set kind = 'nobody-knows'",
        end: DONE,
        again: BEFORE,
    },
    Incident {
        what: "unserved",
        severity: "warning",
        words: &["note", "no live worker serves", "elsewhere"],
        sql: "select jobkit.enqueue('note', '{}', p_queue => 'elsewhere',
            p_run_at => now() + interval '1 min')",
        end: DONE,
        again: BEFORE,
    },
    Incident {
        what: "late_worker",
        severity: "warning",
        words: &["web-2:7", "silent"],
        sql: "select jobkit.register(2, 'web-2:7', '{mail}', '{note}', '1 ms')",
        end: "select jobkit.deregister(2)",
        again: "update jobkit.workers set heartbeat_at = clock_timestamp() where id = 2",
    },
    Incident {
        what: "lost_worker",
        severity: "warning",
        words: &["web-2", "lost", "1 job in hand"],
        sql: "select jobkit.register(2, 'web-2:7', '{mail}', '{note}', '1 day', '{8}');
            select jobkit.enqueue('note', '{}');
            select from jobkit.claim(2, 1, '{note}', '{mail}', '{1}');
            update jobkit.workers set lease = '1 ms', lease_until = now() where id = 2;
            select jobkit.reap_workers(); select jobkit.reap_claim(2, 1)",
        end: "select jobkit.register(3, 'web-2:8', '{mail}', '{note}', '1 day', '{8}');
            update jobkit.workers set started_at = now() + interval '1 s' where id = 3;
            update jobkit.lost_workers set lost_at = lost_at - interval '20 min',
                heartbeat_at = heartbeat_at - interval '20 min';
            update jobkit.workers set started_at = now() - interval '6 min' where id = 3",
        again: "insert into jobkit.lost_workers (id, name, jobs) values (4, 'web-2:9', 0)",
    },
    // A pod that crashes again and again is one.
    Incident {
        what: "lost_worker",
        severity: "warning",
        words: &["web-2 was lost 8 times", "a worker of this name is back"],
        sql: "insert into jobkit.lost_workers (id, name, lost_at, jobs)
            select i, 'web-2:' || i, now() - i * interval '2 min', 1 from generate_series(11, 18) i;
            select jobkit.register(2, 'web-2:7', '{mail}', '{note}', '1 day', '{8}')",
        end: "update jobkit.workers set started_at = now() - interval '6 min' where id = 2",
        again: "insert into jobkit.lost_workers (id, name, jobs) values (4, 'web-2:9', 0)",
    },
    Incident {
        what: "stuck_job",
        severity: "critical",
        words: &["Stuck since", "no space left"],
        sql: "select jobkit.enqueue('note', '{}');
            insert into jobkit.stuck_jobs (job_id, transition, error, since, tries, retry_at)
            select id, 'claim', 'no space left', now(), 3, now() + interval '1 min'
            from jobkit.jobs",
        end: "delete from jobkit.stuck_jobs",
        again: "update jobkit.stuck_jobs set since = clock_timestamp()",
    },
    // One among a hundred that took a moment.
    Incident {
        what: "long_run",
        severity: "warning",
        words: &["note 1 in mail", "6 min", "on worker web-1:7", "99 of 100 take"],
        sql: "insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
            values (15, date_bin('15 min', now(), 'epoch'), 'mail', 'note', 'finish', 100,
                array_fill(0, array[20]) || 100, '{100}');
            select jobkit.enqueue('note', '{}');
            select from jobkit.claim(1, 1, '{note}', '{mail}', '{8}');
            update jobkit.claims set claimed_at = now() - interval '6 min'",
        end: DONE,
        again: "update jobkit.acknowledged set up_to = now() - interval '5 min 30 s';
            select jobkit.enqueue('note', '{}');
            select from jobkit.claim(1, 2, '{note}', '{mail}', '{8}');
            update jobkit.claims set claimed_at = now() - interval '5 min 1 s' where n = 2",
    },
    // Of what nobody has measured yet.
    Incident {
        what: "long_run",
        severity: "warning",
        words: &["note 1 in mail", "61 min", "on worker web-1:7"],
        sql: "select jobkit.enqueue('note', '{}');
            select from jobkit.claim(1, 1, '{note}', '{mail}', '{8}');
            update jobkit.claims set claimed_at = now() - interval '61 min'",
        end: DONE,
        again: "",
    },
    Incident {
        what: "stuck_operation",
        severity: "warning",
        words: &["operation", "cancel", "14 min"],
        sql: "insert into jobkit.operations (verb, filter, idempotency_key, total, up_to, until,
            created_at) values ('cancel', '{}', 'k', 7, 0, now(), now() - interval '14 min')",
        end: "update jobkit.operations set state = 'done', ended_at = now()",
        again: BEFORE,
    },
    Incident {
        what: "overdue_schedule",
        severity: "warning",
        words: &["nightly", "14 min overdue"],
        sql: SCHEDULE,
        end: "update jobkit.schedules set next_at = now() + interval '1 h'",
        again: BEFORE,
    },
    // The program that opened it died.
    Incident {
        what: "unclosed_batch",
        severity: "warning",
        words: &["batch 1 was opened 25 h ago", "never closed"],
        sql: "insert into jobkit.batches (created_at, hold_dead)
            values (now() - interval '25 h', false)",
        end: "select jobkit.close_batch(1)",
        again: "update jobkit.acknowledged set up_to = now() - interval '26 h'",
    },
    Incident {
        what: "held_key",
        severity: "note",
        words: &["pay/a has 2 of 2 permits taken", "1 blocked", "14 min"],
        sql: "select jobkit.enqueue('note', '{}', p_concurrency_key => 'a')
            from generate_series(1, 3);
            select from jobkit.claim(1, 1, '{note}', '{mail}', '{8}');
            update jobkit.blocked_executions set since = now() - interval '14 min'",
        end: "select jobkit.set_limit('key', 'pay', 'a', '{\"running\": 3}')",
        again: BEFORE,
    },
    Incident {
        what: "held_key",
        severity: "note",
        words: &["pay/a waits for its rate, 6/h", "1 blocked", "14 min"],
        sql: concat!(
            "select jobkit.announce_limits(
                '[{\"scope\": \"group\", \"name\": \"pay\", \"running\": 2,
                    \"every\": \"10 min\", \"burst\": 1}]');
            select jobkit.enqueue('note', '{}', p_concurrency_key => 'a')
            from generate_series(1, 2);
            select from jobkit.claim(1, 1, '{note}', '{mail}', '{8}');
            select jobkit.settle(1, jobkit.outcomes('{1}', (select job_ids from jobkit.claims),
                '{finish}'));",
            "update jobkit.blocked_executions set since = now() - interval '14 min'"
        ),
        end: "select jobkit.set_limit('key', 'pay', 'a', '{\"rate\": \"none\"}');
            select jobkit.sweep('', '', 500)",
        again: BEFORE,
    },
    Incident {
        what: "dead_letters",
        severity: "note",
        words: &["1 dead letter within the last hour"],
        sql: DEAD,
        end: "delete from jobkit.dead_letters",
        again: "update jobkit.dead_letters set failed_at = clock_timestamp()",
    },
    Incident {
        what: "paused_queue",
        severity: "note",
        words: &["mail", "is paused", "by ada"],
        sql: concat!(
            "select jobkit.enqueue('note', '{}');
            update jobkit.jobs set created_at = now() - interval '1 h',
                run_at = now() - interval '14 min';",
            "select jobkit.pause_limit('queue', 'mail', null, null, 'ada', 'a reason')"
        ),
        end: "select jobkit.resume_limit('queue', 'mail');
            delete from jobkit.ready; delete from jobkit.jobs",
        again: "select jobkit.resume_limit('queue', 'mail');
            select jobkit.pause_limit('queue', 'mail', null, null, 'ada', 'another')",
    },
    Incident {
        what: "paused_scope",
        severity: "note",
        words: &["kind note is paused", "by ada"],
        sql: "select jobkit.pause_limit('kind', 'note', null, null, 'ada', 'a reason')",
        end: "select jobkit.resume_limit('kind', 'note')",
        again: "select jobkit.resume_limit('kind', 'note');
            select jobkit.pause_limit('kind', 'note', null, null, 'ada', 'another')",
    },
    // Forgotten: it lasts for an hour yet.
    Incident {
        what: "paused_key",
        severity: "note",
        words: &["pay/a is paused until", "1 blocked"],
        sql: "select jobkit.enqueue('note', '{}', p_concurrency_key => 'a');
            select jobkit.pause_key('pay', 'a', '1 h', 'ada', 'a reason');
            select from jobkit.claim(1, 1, '{note}', '{mail}', '{8}')",
        end: "select jobkit.resume_limit('key', 'pay', 'a')",
        again: BEFORE,
    },
    Incident {
        what: "paused_schedule",
        severity: "note",
        words: &["schedule nightly", "is paused by ada", "has not fired since"],
        sql: concat!(
            "select jobkit.create_schedule('{\"name\": \"nightly\",
            \"times\": \"every 1m\", \"next_at\": \"2026-01-01T00:00:00Z\", \"kind\": \"note\",
            \"catch_up\": \"none\", \"catch_up_max\": 1, \"catch_up_window\": \"0\",
            \"overlap\": \"allow\", \"jitter\": \"0\"}', '{}', null);",
            "select jobkit.pause_schedule('nightly', 'ada', 'a reason')"
        ),
        end: "select jobkit.delete_schedule('nightly', null)",
        again: BEFORE,
    },
];

/// A schedule whose instant passed 14 minutes ago.
const SCHEDULE: &str = "select jobkit.create_schedule('{\"name\": \"nightly\",
    \"times\": \"every 1m\", \"next_at\": \"2026-01-01T00:00:00Z\", \"kind\": \"note\",
    \"catch_up\": \"none\", \"catch_up_max\": 1, \"catch_up_window\": \"0\",
    \"overlap\": \"allow\", \"jitter\": \"0\"}', '{}', null);
    update jobkit.schedules set next_at = now() - interval '14 min'";

/// A job that can never run.
const DEAD: &str = "insert into jobkit.dead_letters (kind, job_id, queue, priority, max_attempts,
        reason, error, fingerprint, errors, attempt, attempts, snoozes, created_at,
        first_failed_at, failed_at, args)
    values ('note', nextval('jobkit.jobs_id_seq'), 'mail', 0, 3, 'dead', 'broken', 'f',
        '[]', 1, 1, 0, now(), now(), now(), '1')";

impl Incident {
    /// Lets it happen in a lab of its own, and nothing else.
    pub async fn stage(&self) -> Lab {
        let lab = Lab::new().await;
        self.stage_in(&lab).await;
        lab
    }

    /// The same in this one, in which nothing has happened yet.
    pub async fn stage_in(&self, lab: &Lab) {
        lab.run("select jobkit.finished_prepare(2)").await;
        lab.run(WORKER).await;
        // Workers are not reaped in the first moments of a server.
        lab.until("pg_postmaster_start_time() < clock_timestamp() - interval '1 s'").await;
        lab.run(self.sql).await;
    }

    /// Lets it be over.
    pub async fn end(&self, lab: &Lab) {
        lab.run(self.end).await;
    }

    /// Lets it happen again; whether it can before it is over.
    pub async fn happen_again(&self, lab: &Lab) -> bool {
        lab.run(self.again).await;
        !self.again.is_empty()
    }
}
