-- jobs_in: the next live jobs of a listing after a place, in its order. Each branch uses an index,
-- except for jobs that run or were claimed ahead: they read all of `claims`, which is small.
create or replace function jobkit.jobs_in(
    p_listing text, p_place jsonb, p_rows integer, p_queue text, p_group text, p_key text,
    p_worker bigint, p_id bigint, p_batch bigint
) returns table (id bigint, without_permit boolean, since timestamptz, worker_id bigint)
language sql stable as $$
    (
        select j.id, null::boolean, null::timestamptz, null::bigint from jobkit.jobs j
        where p_listing = 'live' and (p_id is null or j.id = p_id)
            and (p_batch is null or j.batch_id = p_batch)
            and (p_place is null or j.id < (p_place ->> 0)::bigint)
        order by j.id desc limit p_rows
    ) union all (
        select r.job_id, r.without_permit, null, null from (
            (
                select r.queue, r.priority, r.without_permit, r.job_id from jobkit.ready r
                where p_listing = 'ready' and (p_queue is null or r.queue = p_queue)
                    and (p_place is null or (r.queue, r.priority, r.without_permit, r.job_id)
                        > (p_place ->> 0, (p_place ->> 1)::smallint, (p_place ->> 2)::boolean,
                            (p_place ->> 3)::bigint))
                order by r.queue, r.priority, r.without_permit, r.job_id limit p_rows
            ) union all
            select j.queue, j.priority, true, j.id
            from jobkit.claimed_jobs c cross join lateral (
                select j.id, j.queue, j.priority from jobkit.jobs j
                where j.id = c.job_id offset 0
            ) j
            where p_listing = 'ready' and c.waits and (p_queue is null or j.queue = p_queue)
                and (p_place is null or (j.queue, j.priority, true, j.id)
                    > (p_place ->> 0, (p_place ->> 1)::smallint, (p_place ->> 2)::boolean,
                        (p_place ->> 3)::bigint))
        ) r
        order by r.queue, r.priority, r.without_permit, r.job_id limit p_rows
    ) union all (
        select s.job_id, null, null, null from jobkit.scheduled s
        where p_listing = 'scheduled' and (p_place is null or (s.run_at, s.job_id)
                > ((p_place ->> 0)::timestamptz, (p_place ->> 1)::bigint))
        order by s.run_at, s.job_id limit p_rows
    ) union all (
        select s.job_id, null, null, null from jobkit.scheduled s
        where p_listing = 'retrying' and s.retrying and (p_place is null or (s.run_at, s.job_id)
                > ((p_place ->> 0)::timestamptz, (p_place ->> 1)::bigint))
        order by s.run_at, s.job_id limit p_rows
    ) union all (
        select c.job_id, null, c.claimed_at, c.worker_id from jobkit.claimed_jobs c
        where p_listing = 'running' and not c.waits
            and (p_worker is null or c.worker_id = p_worker)
            and (p_place is null or (c.claimed_at, c.job_id)
                > ((p_place ->> 0)::timestamptz, (p_place ->> 1)::bigint))
        order by c.claimed_at, c.job_id limit p_rows
    ) union all (
        select b.job_id, null, b.since, null from jobkit.blocked_executions b
        where p_listing = 'blocked' and (p_group is null or b.concurrency_group = p_group)
            and (p_group is null or p_key is null or b.concurrency_key = p_key)
            and (p_place is null
                or (b.concurrency_group, b.concurrency_key, b.priority, b.job_id) > (p_place ->> 0,
                    p_place ->> 1, (p_place ->> 2)::smallint, (p_place ->> 3)::bigint))
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit p_rows
    )
$$;
