-- pause: no claim takes a job of this queue that commits after this does, and no permit waits in
-- it.
-- Claims in flight are waited for, and hold up this call no longer than two seconds; what runs goes
-- on running. Paused once more, a queue keeps its time and takes the new reason. Returns whether it
-- was not paused before.
create function jobkit.pause(
    p_queue text, p_actor text default null, p_reason text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set enable_seqscan = off
set jit = off
as $$
declare
    v_new boolean;
begin
    perform jobkit.require_read_committed();
    lock table jobkit.queues in exclusive mode;
    perform jobkit.gate();
    v_new := not exists (
        select from jobkit.queues q where q.name = p_queue and q.paused_at is not null
    );
    insert into jobkit.queues as q (name, paused_at, paused_by, reason)
    values (p_queue, clock_timestamp(), p_actor, p_reason)
    on conflict (name) do update set paused_at = coalesce(q.paused_at, excluded.paused_at),
        paused_by = excluded.paused_by, reason = excluded.reason;
    perform jobkit.take_back(array(
        select r.job_id from generate_series(-3, 3) as p (priority)
        -- Each in its own probe: a join could walk all that is ready.
        cross join lateral (
            select r.job_id from jobkit.ready r
            where r.queue = p_queue and r.priority = p.priority and not r.without_permit
            offset 0
        ) r
    ));
    perform jobkit.note(p_actor, 'pause', 'queue', null,
        jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), p_queue);
    return v_new;
end
$$;

-- resume: the queue is served again. Blocked jobs of it whose key has permits left are looked after
-- by the `sweep` that follows. Returns whether it was paused.
create function jobkit.resume(p_queue text, p_actor text default null) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_resumed boolean;
begin
    perform jobkit.require_read_committed();
    lock table jobkit.queues in exclusive mode;
    update jobkit.queues q
    set paused_at = null, paused_by = null, reason = null, resumed_at = clock_timestamp()
    where q.name = p_queue and q.paused_at is not null;
    v_resumed := found;
    if v_resumed then
        perform jobkit.note(p_actor, 'resume', 'queue', null, '{}', p_queue);
        perform jobkit.wake(array[p_queue]);
    end if;
    return v_resumed;
end
$$;

-- take_back: ready jobs that hold a permit nobody would give them now wait for one again, and the
-- next gets theirs. Returns how many there were.
create function jobkit.take_back(p_jobs bigint[]) returns integer
language plpgsql as $$
declare
    v_key record;
    v_taken bigint[];
    v_freed record;
begin
    select * into v_key from jobkit.lock_semaphores(p_jobs);
    with gone as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select h.at from jobkit.jobs j
            cross join lateral (
                select q.ctid as at from jobkit.ready q
                where q.queue = j.queue and q.priority = j.priority
                    and not q.without_permit and q.job_id = j.id
                    and not exists (select from jobkit.serving(q.queue, q.kind))
                for update skip locked
            ) h
            where j.id = any (p_jobs) and (j.concurrency_group, j.concurrency_key) in (
                select * from unnest(v_key.groups, v_key.keys)
            )
        ))
        returning r.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_taken from gone g;
    select * into v_freed from jobkit.signal(v_taken, v_key.groups, v_key.keys);
    perform jobkit.block(v_taken);
    perform jobkit.fill_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);
    return cardinality(v_taken);
end
$$;
