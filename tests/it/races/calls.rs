//! The calls of the races, as SQL that answers with one text.

/// Ids in order; a job that is to be cancelled has an exclamation mark.
pub(super) fn claim(worker: i64, n: i64, slots: i32) -> String {
    claim_from(worker, n, slots, true)
}

/// A claim from the low-water marks, which are all at the start.
pub(super) fn claim_marked(worker: i64, n: i64, slots: i32) -> String {
    claim_from(worker, n, slots, false)
}

fn claim_from(worker: i64, n: i64, slots: i32, start: bool) -> String {
    format!(
        "select string_agg(c.job_id || case when c.cancelled then '!' else '' end, ' '
            order by c.job_id)
        from jobkit.claim({worker}, {n}, '{{act}}', '{{default}}', '{{{slots}}}',
            array[{start}], array_fill(0::bigint, array[14])) c"
    )
}

/// The outcome of one job, kept for an hour; a delay of an hour where there is one.
pub(super) fn settle(worker: i64, n: i64, job: i64, outcome: &str) -> String {
    settle_all(worker, n, &[(job, outcome)])
}

/// The outcomes of some jobs of one claim.
pub(super) fn settle_all(worker: i64, n: i64, outcomes: &[(i64, &str)]) -> String {
    let rows = outcomes.iter().map(|(job, outcome)| {
        let delay = if matches!(*outcome, "retry" | "snooze") { "'1 hour'" } else { "null" };
        format!("({job}::bigint, '{outcome}', {delay}::interval)")
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    let nulls = |kind: &str| format!("array_fill(null::{kind}, array[count(*)::integer])");
    format!(
        "select string_agg(s.job_id || ' ' || s.ending, ', ' order by s.job_id)
        from (
            select array_agg({n}::bigint) as n, array_agg(job) as job,
                array_agg(outcome) as outcome, array_agg('because'::text) as error,
                {} as reason, array_agg(delay) as delay,
                array_agg(interval '1 hour') as keep, {} as took
            from (values {rows}) as o (job, outcome, delay)
        ) i, jobkit.settle({worker}, i.n, i.job, i.outcome, i.error, i.reason, i.delay, i.keep,
            i.took) s",
        nulls("text"),
        nulls("interval"),
    )
}

pub(super) fn reap_workers() -> String {
    "select string_agg(w::text, ' ' order by w) from jobkit.reap_workers() w".to_owned()
}

pub(super) fn orphaned_claims() -> String {
    "select string_agg(o.worker_id || '/' || o.n, ' ') from jobkit.orphaned_claims() o".to_owned()
}

pub(super) fn reap_claim(worker: i64, n: i64) -> String {
    format!("select jobkit.reap_claim({worker}, {n})::text")
}

/// Gives back the claims up to a number that are not held.
pub(super) fn release_lost(worker: i64, concluded: i64, held: &[i64]) -> String {
    format!(
        "select jobkit.release_lost({worker}, {concluded}, array{held:?}::bigint[], '{{}}')::text"
    )
}

pub(super) fn heartbeat(worker: i64) -> String {
    format!("select alive::text from jobkit.heartbeat({worker}, false)")
}

pub(super) fn deregister(worker: i64) -> String {
    format!("select jobkit.deregister({worker})::text")
}

pub(super) fn cancel_mark(job: i64) -> String {
    format!("select (count(*) = 1)::text from jobkit.cancel_mark(array[{job}]::bigint[])")
}

pub(super) fn cancel_take(job: i64) -> String {
    format!(
        "select (count(*) = 1)::text
        from jobkit.cancel_take(array[{job}]::bigint[], 'cancel', 'not wanted')"
    )
}

pub(super) fn promote(limit: i32) -> String {
    format!("select promoted::text from jobkit.promote({limit})")
}

pub(super) fn finished_prepare(days: i32) -> String {
    format!("select jobkit.finished_prepare({days})::text")
}

/// Enqueues some jobs that have three attempts.
pub(super) fn enqueue(count: usize) -> String {
    enqueue_with(count, 3, "null")
}

/// Enqueues some jobs with a number of attempts and a delay.
pub(super) fn enqueue_with(count: usize, max_attempts: i32, delay: &str) -> String {
    let all = |value: &str, kind: &str| format!("array_fill({value}::{kind}, array[{count}])");
    let [text, nulls] = [all("null", "text"), all("null", "jsonb")];
    format!(
        "select string_agg(e::text, ' ' order by e) from jobkit.enqueue_jobs({}, {}, {}, {}, {},
            {}, {text}, {text}, {}, {nulls}, {nulls}) e",
        all("'act'", "text"),
        all("'default'", "text"),
        all("0", "smallint"),
        all(&max_attempts.to_string(), "smallint"),
        all(delay, "interval"),
        all("null", "timestamptz"),
        all("'{}'", "jsonb"),
    )
}
