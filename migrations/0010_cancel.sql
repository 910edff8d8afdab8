-- cancel_mark: from the commit of this mark on, nothing but an end awaits these jobs: retry, snooze,
-- release and reap end them as cancelled, and a claim hands them out only to be settled so.
-- Returns those that are live. In the order of their ids, or two callers could deadlock.
create function jobkit.cancel_mark(p_jobs bigint[]) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform from jobkit.jobs j where j.id = any (p_jobs) order by j.id for no key update;
    return query
    update jobkit.jobs j
    set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
    where j.id = any (p_jobs) returning j.id;
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
    v_freed record;
    v_job jobkit.jobs;
    v_queues text[];
begin
    perform jobkit.require_read_committed();
    perform jobkit.gate();
    select * into v_pulled from jobkit.pull(array(
        select j.id from jobkit.jobs j
        where j.id = any (p_jobs) and j.cancel_requested_at is not null
    ));
    select * into v_freed from jobkit.signal(v_pulled.keyed);
    for v_job in
        select * from jobkit.jobs j where j.id = any (v_pulled.taken) order by j.id for update
    loop
        perform jobkit.finish(v_job, p_outcome, v_job.attempt, p_reason,
            (select k.retention from jobkit.kinds k where k.kind = v_job.kind), null, null);
    end loop;
    v_queues := jobkit.pass_on(v_freed.groups, v_freed.keys, v_freed.freed);
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues);
    end if;
    return query
    select p.id from unnest(p_jobs) as p (id)
    where not exists (select from jobkit.jobs j where j.id = p.id);
end
$$;

-- pull: takes jobs out of where they wait, and returns those it found; and which of them may hold a
-- permit or were blocked, for `signal`. Under their semaphores a job moves between blocked and
-- ready no more. One whose semaphore was made only after we looked is left, if it is blocked or
-- holds a permit by now: to lock another semaphore would be out of order. Nor does it ever wait for
-- a ready or scheduled row: a claim holds those while it waits for others.
create function jobkit.pull(p_jobs bigint[], out taken bigint[], out keyed bigint[])
language plpgsql as $$
declare
    v_locked record;
    v_ready bigint[];
    v_scheduled bigint[];
    v_blocked bigint[];
begin
    select * into v_locked from jobkit.lock_semaphores(p_jobs);
    with gone as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select q.ctid from jobkit.jobs j
            join jobkit.ready q on q.queue = j.queue and q.priority = j.priority
                and q.without_permit = any ('{f,t}') and q.job_id = j.id
            where j.id = any (p_jobs) and (q.without_permit
                or (q.concurrency_group, q.concurrency_key) in (
                    select * from unnest(v_locked.groups, v_locked.keys)
                ))
            for update of q skip locked
        ))
        returning r.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_ready from gone g;
    with gone as (
        delete from jobkit.scheduled s
        where s.ctid = any (array(
            select q.ctid from jobkit.jobs j
            join jobkit.scheduled q on q.run_at = j.run_at and q.job_id = j.id
            where j.id = any (p_jobs) for update of q skip locked
        ))
        returning s.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_scheduled from gone g;
    with gone as (
        delete from jobkit.blocked_executions b using jobkit.jobs j
        where j.id = any (p_jobs) and b.concurrency_group = j.concurrency_group
            and b.concurrency_key = j.concurrency_key and b.priority = j.priority
            and b.job_id = j.id
            and (b.concurrency_group, b.concurrency_key) in (
                select * from unnest(v_locked.groups, v_locked.keys)
            )
        returning b.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_blocked from gone g;
    taken := v_ready || v_scheduled || v_blocked;
    keyed := array(
        select j.id from jobkit.jobs j
        where j.id = any (taken) and (j.concurrency_group, j.concurrency_key) in (
            select * from unnest(v_locked.groups, v_locked.keys)
        )
    );
end
$$;
