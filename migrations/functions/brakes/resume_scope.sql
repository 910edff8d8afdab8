-- resume_scope: the same as `resume`, for a kind or for everything.
create or replace function jobkit.resume_scope(
    p_scope text, p_name text, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
    perform jobkit.require_read_committed();
    if p_scope = 'queue' then
        return jobkit.resume(p_name, p_actor);
    end if;
    lock table jobkit.queues in exclusive mode;
    update jobkit.brakes b set paused_at = null, paused_by = null, reason = null
    where b.scope = p_scope and b.name = p_name and b.paused_at is not null;
    if not found then
        return false;
    end if;
    -- This explains what the sweep finds.
    update jobkit.sweeps set resumed_at = clock_timestamp();
    perform jobkit.note(p_actor, 'resume', p_scope, null, '{}', nullif(p_name, ''));
    perform jobkit.release_brake(p_scope, p_name);
    return true;
end
$$;
