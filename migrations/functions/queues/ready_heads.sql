-- ready_heads: the first p_jobs of each lane, of the first p_queues queues with ready jobs that are
-- not paused, and since when each job is due; with a permit, since it got that. Reads by the
-- primary keys of `ready` and `jobs`.
create or replace function jobkit.ready_heads(p_queues integer, p_jobs integer)
returns table (queue text, kind text, due timestamptz)
language sql stable as $$
    select q.queue, h.kind, j.due
    from jobkit.ready_queues(p_queues) q
    cross join generate_series(-3, 3) as p (priority)
    cross join unnest('{f,t}'::boolean[]) as w (without_permit)
    cross join lateral (
        select r.job_id, r.kind from jobkit.ready r
        where r.queue = q.queue and r.priority = p.priority and r.without_permit = w.without_permit
        order by r.job_id limit p_jobs
    ) h
    cross join lateral (
        select greatest(j.run_at, j.created_at, (
            select m.since from jobkit.permits m where m.job_id = h.job_id and not w.without_permit
        )) as due
        from jobkit.jobs j where j.id = h.job_id offset 0
    ) j
    where not exists (
        select from jobkit.limits s
        where s.holds and s.scope = 'queue' and s.name = q.queue and s.paused_at is not null
    )
$$;
