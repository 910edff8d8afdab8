-- withdraw: removes jobs from where they wait, with their permits. Returns the jobs it removed, and
-- what it freed, for `grant_permits`, which must follow.
-- Locks the semaphores: then a job cannot move between blocked and ready. If a semaphore was
-- created only afterwards, its jobs that are blocked or hold a permit stay: locking it now would
-- break the order. It never waits for a ready or scheduled row, since a claim holds those while it
-- waits.
create or replace function jobkit.withdraw(
    p_jobs bigint[], out jobs bigint[], out groups text[], out keys text[], out freed integer[]
)
language plpgsql as $$
begin
    select l.groups, l.keys into groups, keys from jobkit.lock_semaphores(p_jobs) l;
    with asked as materialized (
        select j.id, j.queue, j.priority, j.run_at, j.concurrency_group, j.concurrency_key
        from jobkit.jobs j where j.id = any (p_jobs)
    ),
    -- Job by job: a join could scan all ready, scheduled or blocked rows.
    of_ready as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select r.at from asked j
            -- One probe for each; a single one for both could scan the whole priority.
            cross join unnest('{f,t}'::boolean[]) as w (without_permit)
            cross join lateral (
                select q.ctid as at from jobkit.ready q
                where q.queue = j.queue and q.priority = j.priority
                    and q.without_permit = w.without_permit and q.job_id = j.id
                    and (q.without_permit or (j.concurrency_group, j.concurrency_key) in (
                        select * from unnest(groups, keys)
                    ))
                for update skip locked
            ) r
        ))
        returning r.job_id
    ), of_scheduled as (
        delete from jobkit.scheduled s
        where s.ctid = any (array(
            select s.at from asked j
            cross join lateral (
                select q.ctid as at from jobkit.scheduled q
                where q.run_at = j.run_at and q.job_id = j.id for update skip locked
            ) s
        ))
        returning s.job_id
    ), of_blocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(
            select b.at from asked j
            cross join lateral (
                select q.ctid as at from jobkit.blocked_executions q
                where q.concurrency_group = j.concurrency_group
                    and q.concurrency_key = j.concurrency_key and q.priority = j.priority
                    and q.job_id = j.id offset 0
            ) b
            where (j.concurrency_group, j.concurrency_key) in (
                select * from unnest(groups, keys)
            )
        ))
        returning b.job_id
    )
    select array(table of_ready union all table of_scheduled union all table of_blocked) into jobs;
    select s.groups, s.keys, s.freed into groups, keys, freed
    from jobkit.signal(jobs, groups, keys) s;
end
$$;
