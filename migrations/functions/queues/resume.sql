-- resume: serves the queue again. A `sweep` must follow, for its blocked jobs whose key has free
-- permits. Returns whether it was paused.
create or replace function jobkit.resume(p_queue text, p_actor text default null) returns boolean
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
