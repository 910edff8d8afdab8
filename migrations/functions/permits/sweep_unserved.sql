-- sweep_unserved: passes permits of ready jobs that no worker serves any more to other jobs of
-- their keys. It reads only the permit holders of each queue.
create or replace function jobkit.sweep_unserved(p_limit integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_jobs bigint[];
begin
    perform jobkit.decide_lock();
    select coalesce(array_agg(h.job_id), '{}') into v_jobs
    from (
        select r.job_id from jobkit.ready_queues() q
        cross join generate_series(-3, 3) as p (priority)
        -- One probe for each; a join could scan all ready rows.
        cross join lateral (
            select r.job_id, r.queue, r.kind from jobkit.ready r
            where r.queue = q.queue and r.priority = p.priority and not r.without_permit
            offset 0
        ) r
        where not exists (select from jobkit.serving(r.queue, r.kind))
        limit p_limit
    ) h;
    return jobkit.take_back(v_jobs);
end
$$;
