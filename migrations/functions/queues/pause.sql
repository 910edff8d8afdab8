-- pause: from its commit on, no claim takes a job of this queue, and no waiting job in it holds a
-- permit. Running jobs continue. If the queue is paused already, the time stays and the reason is
-- replaced. Returns whether it was not paused before.
-- Waits for claims in flight, for at most two seconds.
create or replace function jobkit.pause(
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
    perform jobkit.decide_lock();
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
    perform jobkit.recall();
    perform jobkit.note(p_actor, 'pause', 'queue', null,
        jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), p_queue);
    return v_new;
end
$$;
