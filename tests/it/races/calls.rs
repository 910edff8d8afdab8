//! The calls of the races, as SQL that answers with one text.

/// Ids in order; a job that is to be cancelled has an exclamation mark.
pub(crate) fn claim(worker: i64, n: i64, slots: i32) -> String {
    claim_from(worker, n, slots, Begin::Start)
}

/// A claim from the low-water marks.
pub(crate) fn claim_marked(worker: i64, n: i64, slots: i32) -> String {
    claim_from(worker, n, slots, Begin::Marks)
}

/// A claim beside the low-water marks: of priorities that have none.
pub(crate) fn claim_beside_marks(worker: i64, n: i64, slots: i32) -> String {
    claim_from(worker, n, slots, Begin::NoMarks)
}

fn claim_from(worker: i64, n: i64, slots: i32, from: Begin) -> String {
    claim_where(worker, n, &Scan { slots: &slots.to_string(), from, ..Scan::default() })
}

/// Where the scan of a claim begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Begin {
    Start,
    /// The usual priority has marks, which are at the start.
    Marks,
    /// No priority has any.
    NoMarks,
}

impl Begin {
    /// The arguments that say so, for two queues.
    fn arguments(self) -> &'static str {
        match self {
            Self::Start => "'{}', '{}', '{}'",
            Self::Marks => "array_fill(0::bigint, array[28]), '{6,6}', '{7,7}'",
            Self::NoMarks => "array_fill(0::bigint, array[28]), '{14,14}', '{13,13}'",
        }
    }
}

/// Where a claim looks: queues, slots of each, and kinds, all with commas between; and where it
/// begins.
pub(crate) struct Scan<'a> {
    pub(crate) queues: &'a str,
    pub(crate) slots: &'a str,
    pub(crate) kinds: &'a str,
    pub(crate) from: Begin,
}

impl Default for Scan<'_> {
    fn default() -> Self {
        Self { queues: "default", slots: "100", kinds: "act", from: Begin::Start }
    }
}

pub(crate) fn claim_where(worker: i64, n: i64, scan: &Scan<'_>) -> String {
    let Scan { queues, slots, kinds, from } = scan;
    let from = from.arguments();
    format!(
        "select string_agg(c.job_id || case when c.cancelled then '!' else '' end, ' '
            order by c.job_id)
        from jobkit.claim({worker}, {n}, '{{{kinds}}}', '{{{queues}}}', '{{{slots}}}',
            {from}) c"
    )
}

/// A claim of so many jobs, for some of which there is no slot yet: those have a plus. In the end,
/// whether some went back for that reason.
pub(crate) fn claim_ahead(worker: i64, n: i64, slots: i32, ahead: i32) -> String {
    format!(
        "with claimed as materialized (
            select * from jobkit.claim({worker}, {n}, '{{act}}', '{{default}}', '{{{slots}}}',
                '{{}}', '{{}}', '{{}}', '{{{ahead}}}')
        ), waits as (
            select array(select json_array_elements_text(w.note -> 'ahead')::bigint) as ahead,
                w.note ->> 'cut' as cut
            from claimed w where w.note -> 'ahead' is not null
        )
        select concat_ws(' ',
            (select string_agg(c.job_id || case when c.cancelled then '!'
                when c.job_id = any ((select w.ahead from waits w)::bigint[]) then '+'
                else '' end, ' ' order by c.job_id)
                from claimed c where c.job_id is not null),
            (select 'cut' from waits w where w.cut = 'true'))"
    )
}

/// A heartbeat that says up to which of its claims all jobs have begun.
pub(crate) fn heartbeat_begun(worker: i64, begun: i64) -> String {
    format!("select alive::text from jobkit.heartbeat({worker}, false, {begun})")
}

/// The outcome of one job, kept for an hour; a delay of an hour where there is one.
pub(crate) fn settle(worker: i64, n: i64, job: i64, outcome: &str) -> String {
    settle_all(worker, n, &[(job, outcome)])
}

/// The outcomes of some jobs of one claim.
pub(crate) fn settle_all(worker: i64, n: i64, outcomes: &[(i64, &str)]) -> String {
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
        ) i, jobkit.settle({worker}, jobkit.outcomes(i.n, i.job, i.outcome, p_error => i.error,
            p_reason => i.reason, p_delay => i.delay, p_keep => i.keep, p_took => i.took)) s",
        nulls("text"),
        nulls("interval"),
    )
}

/// The same, and a claim of what that unblocks, with some room in each of some queues.
pub(crate) fn settle_and_claim(
    worker: i64,
    n: i64,
    outcomes: &[(i64, &str)],
    next: i64,
    room: &[(&str, i32)],
) -> String {
    let queues: Vec<_> = room.iter().map(|(queue, _)| *queue).collect();
    let room: Vec<_> = room.iter().map(|(_, room)| room).collect();
    let rest = format!("i.took), {next}, '{{{}}}', array{room:?}::integer[])", queues.join(","));
    settle_all(worker, n, outcomes).replacen("i.took))", &rest, 1)
}

/// A release for an hour.
pub(crate) fn release_later(worker: i64, n: i64, job: i64) -> String {
    let release = settle(worker, n, job, "release");
    release.replacen("null::interval)", "'1 hour'::interval)", 1)
}

pub(crate) fn reap_workers() -> String {
    "select string_agg(w::text, ' ' order by w) from jobkit.reap_workers() w".to_owned()
}

pub(crate) fn orphaned_claims() -> String {
    "select string_agg(o.worker_id || '/' || o.n, ' ') from jobkit.orphaned_claims() o".to_owned()
}

pub(crate) fn reap_claim(worker: i64, n: i64) -> String {
    format!("select jobkit.reap_claim({worker}, {n})::text")
}

/// Gives back the claims up to a number that are not held.
pub(crate) fn release_lost(worker: i64, concluded: i64, held: &[i64]) -> String {
    format!(
        "select jobkit.release_lost({worker}, {concluded}, array{held:?}::bigint[], '{{}}')::text"
    )
}

pub(crate) fn heartbeat(worker: i64) -> String {
    format!("select alive::text from jobkit.heartbeat({worker}, false)")
}

pub(crate) fn stop_worker(worker: i64) -> String {
    format!("select outcome from jobkit.stop_worker({worker})")
}

pub(crate) fn deregister(worker: i64) -> String {
    format!("select jobkit.deregister({worker})::text")
}

pub(crate) fn cancel_mark(job: i64) -> String {
    format!("select (count(*) = 1)::text from jobkit.cancel_mark(array[{job}]::bigint[])")
}

pub(crate) fn cancel_take(job: i64) -> String {
    format!(
        "select (count(*) = 1)::text
        from jobkit.cancel_take(array[{job}]::bigint[], 'cancel', 'not wanted')"
    )
}

pub(crate) fn promote(limit: i32) -> String {
    format!("select promoted::text from jobkit.promote({limit})")
}

pub(crate) fn finished_prepare(days: i32) -> String {
    format!("select jobkit.finished_prepare({days})::text")
}

/// Enqueues some jobs that have three attempts.
pub(crate) fn enqueue(count: usize) -> String {
    enqueue_with(count, 3, "null")
}

/// Enqueues some jobs with a number of attempts and a delay.
pub(crate) fn enqueue_with(count: usize, max_attempts: i32, delay: &str) -> String {
    let all = |value: &str, kind: &str| format!("array_fill({value}::{kind}, array[{count}])");
    format!(
        "select string_agg(e::text, ' ' order by e) from jobkit.enqueue_all(
            jobkit.new_jobs({}, {}, {}, {}, {}, p_delay => {})) e",
        all("'act'", "text"),
        all("'default'", "text"),
        all("0", "smallint"),
        all(&max_attempts.to_string(), "smallint"),
        all("'{}'", "text"),
        all(delay, "interval"),
    )
}

/// A job with a concurrency key, of the group `g` as a rule, and where it differs from others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keyed {
    pub(crate) group: &'static str,
    pub(crate) key: &'static str,
    pub(crate) priority: i32,
    pub(crate) queue: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) max_attempts: i32,
    pub(crate) delay: &'static str,
    /// Bytes of payload, about.
    pub(crate) size: i32,
}

impl From<&'static str> for Keyed {
    fn from(key: &'static str) -> Self {
        let (queue, kind, delay) = ("default", "act", "0 s");
        Self { group: "g", key, priority: 0, queue, kind, max_attempts: 3, delay, size: 0 }
    }
}

/// Enqueues jobs with concurrency keys.
pub(crate) fn enqueue_keyed(jobs: &[Keyed]) -> String {
    let rows = jobs.iter().enumerate().map(|(at, job)| {
        let Keyed { group, key, priority, queue, kind, max_attempts, delay, size } = job;
        format!(
            "({at}, '{group}', '{key}', {priority}::smallint, '{queue}', '{kind}',
            {max_attempts}::smallint, '{delay}'::interval, to_json(repeat('x', {size}))::text)"
        )
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    format!(
        "select string_agg(e::text, ' ' order by e) from (
            select array_agg(kind order by at) as kinds, array_agg(queue order by at) as queues,
                array_agg(priority order by at) as priorities,
                array_agg(attempts order by at) as attempts, array_agg(delay order by at) as delays,
                array_agg(grp order by at) as groups, array_agg(key order by at) as keys,
                array_agg(args order by at) as args
            from (values {rows}) as j (at, grp, key, priority, queue, kind, attempts, delay, args)
        ) i, jobkit.insert_jobs(jobkit.new_jobs(p_kind => i.kinds, p_queue => i.queues,
            p_priority => i.priorities, p_max_attempts => i.attempts, p_args => i.args,
            p_delay => i.delays, p_concurrency_group => i.groups, p_concurrency_key => i.keys)) e"
    )
}

/// The number of groups whose limit changed.
pub(crate) fn announce_limit(group: &str, limit: u32) -> String {
    jobkit_tests::announce_group(group, limit)
}

/// A limit, or `null`, for the group `g`.
pub(crate) fn limit_group(limit: &str) -> String {
    let rule = format!("jsonb_build_object('running', {limit}::integer)");
    format!("select (jobkit.set_limit('group', 'g', null, {rule}) is not null)::text")
}

/// A limit, or `null`, for a key of the group `g`.
pub(crate) fn limit_key(key: &str, limit: &str) -> String {
    let rule = format!("jsonb_build_object('running', {limit}::integer)");
    format!("select (jobkit.set_limit('key', 'g', '{key}', {rule}) is not null)::text")
}

/// Locks the semaphore of a key, as whoever decides about its permits does.
pub(crate) fn lock_key(key: &str) -> String {
    format!("select taken::text from jobkit.semaphores where concurrency_key = '{key}' for update")
}

pub(crate) fn pause(queue: &str) -> String {
    let said = "null, null, 'somebody', 'for a while'";
    format!("select jobkit.pause_limit('queue', '{queue}', {said})::text")
}

pub(crate) fn resume(queue: &str) -> String {
    format!("select jobkit.resume_limit('queue', '{queue}')::text")
}

/// Jobs that a sweep over all keys made ready.
pub(crate) fn sweep() -> String {
    "select unblocked::text from jobkit.sweep('', '', 1000000)".to_owned()
}

pub(crate) fn sweep_unserved() -> String {
    "select jobkit.sweep_unserved(1000)::text".to_owned()
}

pub(crate) fn cancel_mark_all(jobs: &[i64]) -> String {
    format!("select count(*)::text from jobkit.cancel_mark(array{jobs:?}::bigint[])")
}

/// Ids of those that have ended.
pub(crate) fn cancel_take_all(jobs: &[i64]) -> String {
    format!(
        "select string_agg(t::text, ' ' order by t)
        from jobkit.cancel_take(array{jobs:?}::bigint[], 'cancel', 'not wanted') t"
    )
}

/// Ids of those that got another time: an interval from now, or `null` for now.
pub(crate) fn reschedule(jobs: &[i64], delay: &str) -> String {
    format!(
        "select string_agg(r::text, ' ' order by r)
        from jobkit.reschedule(array{jobs:?}::bigint[], now() + {delay}::interval) r"
    )
}

/// A job with a dead-letter key, or with none when it is empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lettered {
    pub(crate) key: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) payload: i32,
}

impl From<&'static str> for Lettered {
    fn from(key: &'static str) -> Self {
        Self { key, kind: "act", payload: 0 }
    }
}

/// Enqueues jobs with dead-letter keys; each has three attempts.
pub(crate) fn enqueue_lettered(jobs: &[Lettered]) -> String {
    let rows = jobs.iter().enumerate().map(|(at, Lettered { key, kind, payload })| {
        format!("({at}, '{kind}', nullif('{key}', ''), to_json({payload})::text)")
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    let fill =
        |value: &str, kind: &str| format!("array_fill({value}::{kind}, array[{}])", jobs.len());
    format!(
        "select string_agg(e::text, ' ' order by e) from (
            select array_agg(kind order by at) as kinds, array_agg(key order by at) as keys,
                array_agg(args order by at) as args
            from (values {rows}) as j (at, kind, key, args)
        ) i, jobkit.enqueue_all(jobkit.new_jobs(i.kinds, {}, {}, {}, i.args,
            p_dead_letter_key => i.keys)) e",
        fill("'default'", "text"),
        fill("0", "smallint"),
        fill("3", "smallint"),
    )
}

/// "replay 7", "already 7", "resolved 7" or "missing".
pub(crate) fn replay(letter: i64) -> String {
    format!("select concat_ws(' ', outcome, job_id) from jobkit.replay({letter}, 'somebody')")
}

/// "2 replayed, 1 skipped", of the oldest so many.
pub(crate) fn replay_page(limit: i32) -> String {
    let taken = taken("replay", "open", limit);
    format!("select format('%s replayed, %s skipped', done, skipped) from {taken}")
}

/// How many became jobs again by themselves.
pub(crate) fn replay_due() -> String {
    "select jobkit.replay_due(100)::text".to_owned()
}

/// "discard", "replaying" or "missing".
pub(crate) fn discard(letter: i64) -> String {
    format!("select jobkit.discard_dead_letter({letter}, 'somebody')")
}

/// "2 discarded, 1 skipped".
pub(crate) fn discard_page(state: &str) -> String {
    let taken = taken("purge", state, 100);
    format!("select format('%s discarded, %s skipped', done, skipped) from {taken}")
}

/// A page of an operation on all dead letters of a state.
fn taken(verb: &str, state: &str, limit: i32) -> String {
    let operation = format!(
        "jsonb_populate_record(null::jobkit.operations, jsonb_build_object('verb', '{verb}',
            'filter', jsonb_build_object('state', '{state}'), 'until', 'infinity',
            'after_at', '-infinity', 'after_id', 0))"
    );
    format!(
        "(select cardinality(t.ids) as done, cardinality(p.ids) - cardinality(t.ids) as skipped
            from jobkit.operation_page({operation}, {limit}) p, lateral (
                select jobkit.take_dead_letters('{verb}', p.ids, '{{{state}}}', 'infinity') as ids
            ) t) taken"
    )
}

/// A job with a unique key, of the kind `act` and the group of that name, and where it differs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Once {
    pub(crate) kind: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) key: &'static str,
    pub(crate) holds: &'static str,
    pub(crate) on_duplicate: &'static str,
    pub(crate) payload: i32,
    pub(crate) delay: &'static str,
    /// How long the key is held at least.
    pub(crate) at_least: &'static str,
}

impl Once {
    pub(crate) fn of(key: &'static str) -> Self {
        let (kind, queue, holds, on_duplicate) = ("act", "default", "unfinished", "skip");
        let (delay, at_least) = ("null", "null");
        Self { kind, queue, key, holds, on_duplicate, payload: 0, delay, at_least }
    }
}

/// "enqueued 7", "existing 7" or "replaced 7" of each.
pub(crate) fn enqueue_unique(jobs: &[Once]) -> String {
    let rows = jobs.iter().enumerate().map(|(at, job)| {
        let Once { kind, queue, key, holds, on_duplicate, payload, delay, at_least } = job;
        let delay = if *delay == "null" { "null".to_owned() } else { format!("'{delay}'") };
        let term = if *at_least == "null" { "null".to_owned() } else { format!("'{at_least}'") };
        format!(
            "({at}, '{kind}', '{queue}', '{key}', '{holds}', '{on_duplicate}',
            to_json({payload})::text, {delay}::interval, {term}::interval)"
        )
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    let fill =
        |value: &str, kind: &str| format!("array_fill({value}::{kind}, array[{}])", jobs.len());
    format!(
        "select string_agg(e.answer || ' ' || e.job_id, ', ' order by e.at) from (
            select array_agg(kind order by at) as kinds, array_agg(queue order by at) as queues,
                array_agg(key order by at) as keys, array_agg(holds order by at) as holds,
                array_agg(what order by at) as what, array_agg(args order by at) as args,
                array_agg(delay order by at) as delays, array_agg(term order by at) as terms
            from (values {rows}) as j (at, kind, queue, key, holds, what, args, delay, term)
        ) i, jobkit.enqueue_unique(jobkit.new_jobs(p_kind => i.kinds, p_queue => i.queues,
            p_priority => {}, p_max_attempts => {}, p_args => i.args, p_delay => i.delays,
            p_unique_scope => {}, p_unique_key => i.keys, p_unique_while => i.holds,
            p_unique_for => i.terms, p_on_duplicate => i.what))
            with ordinality as e (job_id, answer, at)",
        fill("0", "smallint"),
        fill("3", "smallint"),
        fill("'act'", "text"),
    )
}

/// A job that coalesces by the key `k`, of the kind `act` and its group, and where it differs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coalescing {
    pub(crate) kind: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) delay: &'static str,
    pub(crate) priority: i32,
    /// A concurrency key of the group `g`; none when it is empty.
    pub(crate) key: &'static str,
}

impl Default for Coalescing {
    fn default() -> Self {
        Self { kind: "act", queue: "default", delay: "0 s", priority: 0, key: "" }
    }
}

/// Enqueues so many of them; the ids.
pub(crate) fn enqueue_coalescing(count: i32, job: Coalescing) -> String {
    let Coalescing { kind, queue, delay, priority, key } = job;
    let fill = |value: &str, kind: &str| format!("array_fill({value}::{kind}, array[{count}])");
    let text = |value: &str| fill(&format!("'{value}'"), "text");
    let delays =
        if delay == "0 s" { "'{}'".to_owned() } else { fill(&format!("'{delay}'"), "interval") };
    let key = if key.is_empty() { fill("null", "text") } else { text(key) };
    format!(
        "select string_agg(e::text, ' ' order by e) from jobkit.insert_jobs(jobkit.new_jobs(
            p_kind => {}, p_queue => {}, p_priority => {}, p_max_attempts => {}, p_args => {},
            p_delay => {delays}, p_concurrency_group => {}, p_concurrency_key => {key},
            p_unique_scope => {}, p_unique_key => {}, p_unique_while => {})) e",
        text(kind),
        text(queue),
        fill(&priority.to_string(), "smallint"),
        fill("3", "smallint"),
        text("{}"),
        text("g"),
        text("act"),
        text("k"),
        text("coalesce"),
    )
}
