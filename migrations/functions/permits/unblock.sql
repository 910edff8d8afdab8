-- unblock: makes these jobs, which `grant_permits` just gave permits, ready ahead of the backlog.
-- Returns the first of each queue and priority.
create or replace function jobkit.unblock(p_jobs bigint[])
returns table (queue text, priority smallint, job_id bigint)
language plpgsql as $$
begin
    return query
    with made_ready as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select j.queue, j.priority, false, j.id, j.kind, j.concurrency_group, j.concurrency_key
        from jobkit.jobs j where j.id = any (p_jobs)
        returning ready.queue, ready.priority, ready.job_id
    )
    select r.queue, r.priority, min(r.job_id) from made_ready r group by 1, 2;
end
$$;
