-- pause_limit: pauses a queue, a kind in every version or everything (`all`, ''), or a key for a
-- time. From its commit on no claim takes a job of it, and no waiting job of it holds a permit.
-- Running jobs continue. If it is paused already, the time stays and the reason is replaced.
--   p_for  how long, of a key; null for the others, which are paused until somebody resumes them
-- Returns whether it was not paused before; null if no worker has announced the group of the key.
-- Waits for claims in flight, for at most two seconds.
create or replace function jobkit.pause_limit(
    p_scope text, p_name text, p_key text default null, p_for interval default null,
    p_actor text default null, p_reason text default null
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
    perform jobkit.require_pausable(p_scope, p_name, p_key, p_for);
    if p_scope = 'key' then
        return jobkit.pause_key(p_name, p_key, p_for, p_actor, p_reason);
    end if;
    perform jobkit.require_read_committed();
    lock table jobkit.limits in exclusive mode;
    v_new := not exists (
        select from jobkit.limits l
        where l.scope = p_scope and l.name = p_name and l.paused_at is not null
    );
    -- A pause explains nothing that a sweep finds.
    insert into jobkit.limits as l (scope, name, paused_at, paused_by, pause_reason, changed_at)
    values (p_scope, p_name, clock_timestamp(), p_actor, p_reason, '-infinity')
    on conflict (scope, name) do update set paused_at = coalesce(l.paused_at, excluded.paused_at),
        paused_by = excluded.paused_by, pause_reason = excluded.pause_reason;
    perform jobkit.take_back(array(
        select r.job_id
        from (
            select p_name as queue where p_scope = 'queue'
            union all select q.queue from jobkit.ready_queues() q where p_scope <> 'queue'
        ) q
        cross join generate_series(-3, 3) as p (priority)
        -- One probe for each; a join could scan all ready rows.
        cross join lateral (
            select r.job_id, r.kind from jobkit.ready r
            where r.queue = q.queue and r.priority = p.priority and not r.without_permit
            offset 0
        ) r
        where p_scope <> 'kind' or jobkit.unversioned(r.kind) = p_name
    ));
    perform jobkit.recall();
    perform jobkit.note(p_actor, 'pause', p_scope, null,
        jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), nullif(p_name, ''));
    return v_new;
end
$$;
