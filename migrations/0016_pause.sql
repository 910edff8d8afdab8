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
        join jobkit.ready r on r.queue = p_queue and r.priority = p.priority
            and not r.without_permit
    ));
    return v_new;
end
$$;

-- resume: the queue is served again. Blocked jobs of it whose key has permits left are looked after
-- by the `sweep` that follows. Returns whether it was paused.
create function jobkit.resume(p_queue text) returns boolean
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
        perform jobkit.wake(array[p_queue]);
    end if;
    return v_resumed;
end
$$;
