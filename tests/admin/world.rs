//! A queue with something of everything, in which every text is one that a test likes.

use jobkit_tests::Lab;

/// Everything that the statements below need is made of these texts, each at most 100 bytes and
/// none like another.
pub(crate) async fn fill(lab: &Lab, texts: &[&str]) {
    let steps = [
        "select jobkit.finished_prepare(2)",
        "select jobkit.announce($1, $1, array_fill(0::smallint, array[n]),
            array_fill(2::smallint, array[n]), array_fill('1 h'::interval, array[n]), $1,
            array_fill(1, array[n]))
        from cardinality($1) n",
        "select jobkit.announce_limits(jsonb_agg(jsonb_build_object(
            'scope', 'group', 'name', t, 'running', 1))) from unnest($1) t",
        "select jobkit.register(31, $1[1], $1, $1, '1 day', array_fill(10, array[n]))
        from cardinality($1) n",
        // One runs, one ends, the others are blocked.
        "select jobkit.enqueue(t, jsonb_build_object(t, t), p_concurrency_key => t,
            p_tags => array[t], p_metadata => jsonb_build_object(t, t), p_dead_letter_key => t)
        from generate_series(1, 3), unnest($1) t",
        "select from cardinality($1) n, jobkit.claim(31, 1, $1, $1, array_fill(500, array[n]))",
        "select jobkit.enqueue(t, '{}', p_concurrency_key => 'later', p_run_at => now() + '1 h')
        from unnest($1) t",
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
            errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
            error, fingerprint, key, tags, metadata)
        select -i, t, t, 0, 20, 'exhausted', jsonb_build_array(jsonb_build_object('job_id', -i,
                'attempt', 1, 'outcome', 'bury', 'error', t, 'error_type', t, 'ended_at', now())),
            20, 20, 0, now(), now(), now(), jsonb_build_object(t, t), t, t, t, array[t],
            jsonb_build_object(t, t)
        from unnest($1) with ordinality as of (t, i)",
        "insert into jobkit.limits (scope, name, paused_at, paused_by, pause_reason)
        select 'queue', t, now(), t, t from unnest($1) t",
        "insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max,
            catch_up_window, overlap, jitter, kind, queue, priority, max_attempts, args, paused_at,
            paused_by, pause_reason) select t, '*/20 * * * *', now() + '1 h', 'latest', 1, '0',
            'allow', '0', t, t, 0, 3, jsonb_build_object(t, t), now(), t, t from unnest($1) t",
        "insert into jobkit.schedule_runs (schedule, instant, skipped, actor)
        select t, now() - '1 h'::interval, 'missed', t from unnest($1) t",
        "insert into jobkit.operations (verb, filter, actor, reason, idempotency_key, total,
            up_to, until)
        select 'discard', jsonb_build_object(t, t), t, t, t, 7, 0, now() from unnest($1) t",
        "insert into jobkit.audit (actor, action, subject, subject_name, detail)
        select t, 'pause', 'queue', t, jsonb_build_object(t, t) from unnest($1) t",
    ];
    for step in steps {
        let mut query = sqlx::query(step);
        if step.contains("$1") {
            query = query.bind(texts);
        }
        let done = query.execute(lab.pool()).await;
        done.unwrap_or_else(|error| panic!("{step}: {error}"));
    }
    end_some(lab).await;
}

/// A batch for each kind: what is scheduled is a member, and what is blocked a callback.
async fn open_batches(lab: &Lab) {
    lab.run(
        "insert into jobkit.batches (created_at, hold_dead, then_job)
        select now(), false, max(j.id)
        from jobkit.blocked_executions b join jobkit.jobs j on j.id = b.job_id group by j.kind;
        update jobkit.jobs j set callback_of = b.id
        from jobkit.batches b where b.then_job = j.id;
        update jobkit.jobs j set batch_id = b.id
        from jobkit.batches b join jobkit.jobs c on c.id = b.then_job
        where c.kind = j.kind and exists (select from jobkit.scheduled s where s.job_id = j.id);
        insert into jobkit.batch_counts (batch_id, outcome, jobs)
        select j.batch_id, 'add', count(*) from jobkit.jobs j
        where j.batch_id is not null group by j.batch_id",
    )
    .await;
}

/// Whatever runs says how far it is, logs a line and has a checkpoint.
async fn say_something(lab: &Lab) {
    lab.run(
        "insert into jobkit.reports (job_id, attempt, worker_id, began_at, done, total, note,
            progressed_at, lines)
        select j.id, 1, 31, now(), 1, 3, j.kind, now(), jsonb_build_array(jsonb_build_object(
            'at', 0, 'level', 'INFO', 'target', j.kind, 'text', j.kind))
        from jobkit.claims c join jobkit.jobs j on j.id = any (c.job_ids);
        select jobkit.save_step(31, 1, j.id, 1, s.name, '7')
        from jobkit.claims c join jobkit.jobs j on j.id = any (c.job_ids)
        cross join lateral (values (''), (j.kind)) as s (name)",
    )
    .await;
}

/// Ends a quarter of what runs, and fails half, in the ways there are.
async fn end_some(lab: &Lab) {
    open_batches(lab).await;
    say_something(lab).await;
    lab.run(
        "select count(*) from (
            select array_agg(1::bigint) as ns, array_agg(id) as jobs,
                array_agg(outcome) as outcomes, array_agg(kind) as errors,
                array_agg(null::text) as reasons,
                array_agg('1 h'::interval) as times
            from (select j.id, j.kind, case row_number() over (order by j.id) % 4
                    when 0 then 'finish' when 1 then 'retry' when 2 then 'bury' end as outcome
                from jobkit.claims c, unnest(c.job_ids) as job, jobkit.jobs j where j.id = job
            ) as ended
            where outcome is not null
        ) x, jobkit.settle(31, jobkit.outcomes(ns, jobs, outcomes, p_error => errors,
            p_reason => reasons, p_delay => times, p_keep => times, p_took => times,
            p_error_type => errors))",
    )
    .await;
}

/// A small world of ordinary names.
pub(crate) async fn ordinary() -> Lab {
    let lab = Lab::new().await;
    let names: Vec<String> = (0..32).map(|n| format!("send_receipt_{n:02}")).collect();
    fill(&lab, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    lab
}
