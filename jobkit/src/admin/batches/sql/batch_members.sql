-- Members of a batch in the order of their ids, each by an index: live jobs, those in the history,
-- dead letters.
-- $1 the batch, $2 `live`, `finished`, `dead`, or null for all; $3 after this job, $4 how many at
-- most
with live as materialized (
    select j.id from jobkit.jobs j
    where coalesce($2, 'live') = 'live' and j.batch_id = $1 and j.id > $3
    order by j.id limit $4
)
select m.* from (
    (
        select j.*, null as outcome, c.worker_id, coalesce(c.claimed_at, b.since) as since,
            null::interval as took
        from live l
        cross join lateral (select * from jobkit.listed_jobs j where j.id = l.id offset 0) j
        left join jobkit.claims c on j.state = 'running' and j.id = any (c.job_ids)
        left join jobkit.blocked_executions b on b.job_id = j.id and (b.concurrency_group,
            b.concurrency_key, b.priority) = (j.concurrency_group, j.concurrency_key, j.priority)
    ) union all (
        select f.job_id, f.kind, f.queue, f.priority, f.attempt, f.max_attempts, false, f.run_at,
            f.created_at, f.concurrency_group, f.concurrency_key, f.tags, 'finished',
            left(coalesce(f.reason, f.errors -> -1 ->> 'error'), 300), f.outcome, f.worker_id,
            f.finished_at, f.took
        from jobkit.finished f
        where coalesce($2, 'finished') = 'finished' and f.batch_id = $1 and f.job_id > $3
        order by f.job_id limit $4
    ) union all (
        select d.job_id, d.kind, d.queue, d.priority, d.attempt, d.max_attempts, false,
            d.created_at, d.created_at, d.concurrency_group, d.concurrency_key, d.tags, 'dead',
            left(d.error, 300), null, d.worker_id, d.failed_at, null
        from jobkit.dead_letters d
        where coalesce($2, 'dead') = 'dead' and d.batch_id = $1 and d.job_id > $3
        order by d.job_id limit $4
    )
) m
order by m.id limit $4
