-- delete_schedule: deletes a schedule. What is due is missed; its jobs and its history stay. If
-- code declares it, its row stays, too, so that the next start of a worker does not restore it.
-- Returns whether there was one.
create or replace function jobkit.delete_schedule(p_name text, p_actor text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    perform from jobkit.schedules s where s.name = p_name and s.removed_at is null for update;
    if not found then
        return false;
    end if;
    perform jobkit.miss_due(p_name, null);
    delete from jobkit.schedules s where s.name = p_name and s.declared_at is null;
    update jobkit.schedules s set removed_at = clock_timestamp(), removed_by = p_actor
    where s.name = p_name;
    perform jobkit.note(p_actor, 'delete', 'schedule', null, '{}', p_name);
    return true;
end
$$;
