-- cancel_mark: from the commit of this mark on, nothing but an end awaits these jobs: retry,
-- snooze, release and reap end them as cancelled, and a claim hands them out only to be settled so.
-- Returns those that are live. In the order of their ids, or two callers could deadlock.
--   p_action, p_actor, p_detail  for the audit: `cancel` or `discard`, who, and why
create function jobkit.cancel_mark(
    p_jobs bigint[], p_action text default 'cancel', p_actor text default null,
    p_detail jsonb default null
) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_marked bigint[];
begin
    perform from jobkit.jobs j where j.id = any (p_jobs) order by j.id for no key update;
    with marked as (
        update jobkit.jobs j
        set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
        where j.id = any (p_jobs) returning j.id
    )
    select coalesce(array_agg(m.id order by m.id), '{}') into v_marked from marked m;
    perform jobkit.note_jobs(p_actor, p_action, v_marked, p_detail);
    return query select unnest(v_marked);
end
$$;

-- cancel_take: takes marked jobs from where they wait and ends them; p_outcome is `cancel` or
-- `discard`. Returns those that have ended, now or before; the others are running or in the hands
-- of another session: the mark ends them.
create function jobkit.cancel_take(p_jobs bigint[], p_outcome text, p_reason text)
returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_pulled record;
    v_job jobkit.jobs;
begin
    perform jobkit.gate();
    select * into v_pulled from jobkit.pull(array(
        select j.id from jobkit.jobs j
        where j.id = any (p_jobs) and j.cancel_requested_at is not null
    ));
    perform from jobkit.jobs j where j.id = any (v_pulled.jobs) order by j.id for update;
    for v_job in
        select * from jobkit.jobs j where j.id = any (v_pulled.jobs)
        order by j.kind, j.dead_letter_key, j.dead_letter_id, j.id
    loop
        perform jobkit.finish(v_job, p_outcome, v_job.attempt, p_reason,
            (select k.retention from jobkit.kinds k where k.kind = v_job.kind), null, null);
    end loop;
    perform jobkit.fill_and_wake(v_pulled.groups, v_pulled.keys, v_pulled.freed);
    return query
    select p.id from unnest(p_jobs) as p (id)
    where not exists (select from jobkit.jobs j where j.id = p.id);
end
$$;

-- pull: takes jobs out of where they wait, with their permits. Returns those it found, and what it
-- freed, for `fill`, which has to follow. Under the lock of its semaphore a job moves between
-- blocked and ready no more. One whose semaphore was made only after they were locked is left alone
-- while it is blocked or holds a permit: to lock it now would be out of order.
-- It never waits for a ready or scheduled row: a claim holds those while it waits for others.
create function jobkit.pull(
    p_jobs bigint[], out jobs bigint[], out groups text[], out keys text[], out freed integer[]
)
language plpgsql as $$
declare
    v_ready bigint[];
    v_scheduled bigint[];
    v_blocked bigint[];
begin
    select l.groups, l.keys into groups, keys from jobkit.lock_semaphores(p_jobs) l;
    -- Job by job: a join could walk all that is ready, scheduled or blocked.
    with gone as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select r.at from jobkit.jobs j
            -- Each in its own probe: one for both could walk the whole priority.
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
            where j.id = any (p_jobs)
        ))
        returning r.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_ready from gone g;
    with gone as (
        delete from jobkit.scheduled s
        where s.ctid = any (array(
            select s.at from jobkit.jobs j
            cross join lateral (
                select q.ctid as at from jobkit.scheduled q
                where q.run_at = j.run_at and q.job_id = j.id for update skip locked
            ) s
            where j.id = any (p_jobs)
        ))
        returning s.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_scheduled from gone g;
    with gone as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(
            select b.at from jobkit.jobs j
            cross join lateral (
                select q.ctid as at from jobkit.blocked_executions q
                where q.concurrency_group = j.concurrency_group
                    and q.concurrency_key = j.concurrency_key and q.priority = j.priority
                    and q.job_id = j.id offset 0
            ) b
            where j.id = any (p_jobs) and (j.concurrency_group, j.concurrency_key) in (
                select * from unnest(groups, keys)
            )
        ))
        returning b.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_blocked from gone g;
    jobs := v_ready || v_scheduled || v_blocked;
    select s.groups, s.keys, s.freed into groups, keys, freed
    from jobkit.signal(jobs, groups, keys) s;
end
$$;
