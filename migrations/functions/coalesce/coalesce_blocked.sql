-- coalesce_blocked: among the blocked jobs of each key of p_jobs, which were just blocked, keeps
-- the newest and ends up to 1,000 older ones.
-- The caller holds the semaphores. Jobs whose semaphore it could not lock went back to ready, and
-- are left out.
create or replace function jobkit.coalesce_blocked(p_jobs bigint[]) returns void
language plpgsql as $$
declare
    v_jobs bigint[];
    v_by bigint[];
begin
    with keys as materialized (
        select distinct j.unique_scope, j.unique_key, j.queue, j.concurrency_group,
            j.concurrency_key
        from jobkit.jobs j
        where j.id = any (p_jobs) and j.unique_while = 'coalesce' and j.cancel_requested_at is null
            and exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = j.concurrency_group
                    and b.concurrency_key = j.concurrency_key and b.priority = j.priority
                    and b.job_id = j.id
            )
    ), blocked as materialized (
        select b.*, max(b.job_id) over (partition by k.unique_scope, k.unique_key, k.queue,
            k.concurrency_group, k.concurrency_key) as newest
        from keys k
        cross join lateral (
            select b.at, b.job_id from jobkit.jobs j
            cross join lateral (
                select b.ctid as at, b.job_id from jobkit.blocked_executions b
                where b.concurrency_group = j.concurrency_group
                    and b.concurrency_key = j.concurrency_key and b.priority = j.priority
                    and b.job_id = j.id offset 0
            ) b
            where j.unique_scope = k.unique_scope and j.unique_key = k.unique_key
                and j.unique_while = 'coalesce' and j.queue = k.queue
                and j.concurrency_group = k.concurrency_group
                and j.concurrency_key = k.concurrency_key and j.cancel_requested_at is null
            order by j.id desc limit 1000
        ) b
    ), locked as materialized (
        select j.id from jobkit.jobs j
        where j.id in (select b.job_id from blocked b where b.job_id < b.newest)
        for update skip locked
    ), taken as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(
            select b.at from blocked b join locked l on l.id = b.job_id
        ))
        returning b.job_id
    )
    select array_agg(t.job_id), array_agg(b.newest) into v_jobs, v_by
    from taken t join blocked b on b.job_id = t.job_id;
    perform jobkit.coalesce_end(v_jobs, v_by);
end
$$;
