-- ended_in: the same as `jobs_in`, for ended jobs, the newest first.
create or replace function jobkit.ended_in(
    p_listing text, p_before bigint, p_rows integer, p_id bigint, p_batch bigint
) returns table (
    job_id bigint, expires_at timestamptz, worker_id bigint, kind text, queue text, tags text[],
    concurrency_group text, concurrency_key text, args json, reason text, errors jsonb,
    outcome text, batch_id bigint
)
language sql stable as $$
    (
        select f.job_id, f.expires_at, f.worker_id, f.kind, f.queue, f.tags, f.concurrency_group,
            f.concurrency_key, f.args, f.reason, f.errors, f.outcome, f.batch_id
        from jobkit.shown_finished f
        where p_listing = 'finished' and (p_id is null or f.job_id = p_id)
            and (p_batch is null or f.batch_id = p_batch)
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    ) union all (
        select f.job_id, f.expires_at, f.worker_id, f.kind, f.queue, f.tags, f.concurrency_group,
            f.concurrency_key, f.args, f.reason, f.errors, f.outcome, f.batch_id
        from jobkit.shown_finished f
        where p_listing = 'discarded' and f.outcome not in ('finish', 'cancel')
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    ) union all (
        select f.job_id, f.expires_at, f.worker_id, f.kind, f.queue, f.tags, f.concurrency_group,
            f.concurrency_key, f.args, f.reason, f.errors, f.outcome, f.batch_id
        from jobkit.shown_finished f
        where p_listing = 'cancelled' and f.outcome = 'cancel'
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    )
$$;
