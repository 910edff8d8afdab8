-- next_of_kind: whether claims would take this waiting job before any other of its kind: a worker
-- serves it, nothing is paused, and no unlocked job is ahead of it in its lane. It looks at 100
-- jobs.
create or replace function jobkit.next_of_kind(
    p_queue text, p_priority smallint, p_kind text, p_job bigint
) returns boolean
language sql stable as $$
    select exists (select from jobkit.serving(p_queue, p_kind)) and not exists (
        select from (
            select r.kind, r.xmax as held from jobkit.ready r
            where r.queue = p_queue and r.priority = p_priority and r.without_permit
                and r.job_id < p_job
            order by r.job_id desc limit 100
        ) n
        where n.kind = p_kind and n.held = '0'
    )
$$;
