-- unblock: makes jobs that `grant_permits` just gave permits ready, ahead of the backlog. Returns
-- the first job of each queue and priority.
create or replace function jobkit.unblock(p_jobs bigint[])
returns table (queue text, priority smallint, job_id bigint)
language plpgsql as $$
begin
    return query
    select r.queue, r.priority, min(r.job_id) from jobkit.make_ready(p_jobs, true) r group by 1, 2;
end
$$;
