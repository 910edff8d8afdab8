-- pause_scope: the same as `pause`, for a kind (in every version) or for everything (`all`, '').
create or replace function jobkit.pause_scope(
    p_scope text, p_name text, p_actor text default null, p_reason text default null
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
    if p_scope = 'queue' then
        return jobkit.pause(p_name, p_actor, p_reason);
    end if;
    lock table jobkit.queues in exclusive mode;
    perform jobkit.decide_lock();
    v_new := not exists (
        select from jobkit.brakes b
        where b.scope = p_scope and b.name = p_name and b.paused_at is not null
    );
    insert into jobkit.brakes as b (scope, name, paused_at, paused_by, reason)
    values (p_scope, p_name, clock_timestamp(), p_actor, p_reason)
    on conflict (scope, name) do update
        set paused_at = coalesce(b.paused_at, excluded.paused_at),
            paused_by = excluded.paused_by, reason = excluded.reason;
    perform jobkit.take_back(array(
        select r.job_id from jobkit.ready_queues() q
        cross join generate_series(-3, 3) as p (priority)
        -- Each in its own probe, as in `pause`.
        cross join lateral (
            select r.job_id, r.kind from jobkit.ready r
            where r.queue = q.queue and r.priority = p.priority and not r.without_permit
            offset 0
        ) r
        where p_scope = 'all' or jobkit.unversioned(r.kind) = p_name
    ));
    perform jobkit.recall();
    perform jobkit.note(p_actor, 'pause', p_scope, null,
        jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), nullif(p_name, ''));
    return v_new;
end
$$;
