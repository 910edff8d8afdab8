-- resume_limit: ends a pause. A `sweep` must follow, for blocked jobs whose key has free permits.
-- Returns whether it was paused.
create or replace function jobkit.resume_limit(
    p_scope text, p_name text, p_key text default null, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
    perform jobkit.require_pausable(p_scope, p_name, p_key);
    if p_scope = 'key' then
        return jobkit.resume_key(p_name, p_key, p_actor);
    end if;
    perform jobkit.require_read_committed();
    lock table jobkit.limits in exclusive mode;
    update jobkit.limits l
    set paused_at = null, paused_by = null, pause_reason = null, changed_at = clock_timestamp()
    where l.scope = p_scope and l.name = p_name and l.paused_at is not null;
    if not found then
        return false;
    end if;
    perform jobkit.note(p_actor, 'resume', p_scope, null, '{}', nullif(p_name, ''));
    perform jobkit.wake(case when p_scope = 'queue' then array[p_name]
        else array(select q.queue from jobkit.ready_queues() q) end);
    return true;
end
$$;
