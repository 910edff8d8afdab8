-- resume_schedule: fires the instants of a schedule again. Undecided instants of the pause must be
-- decided first, by `fire`: while one is due that the caller has not seen, nothing happens and it
-- returns `due`. Otherwise it returns `resumed` or `not paused`; null: no such schedule.
create or replace function jobkit.resume_schedule(p_name text, p_actor text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_schedule jobkit.schedules;
begin
    perform jobkit.require_read_committed();
    select * into v_schedule from jobkit.schedules s
    where s.name = p_name and s.removed_at is null for update;
    if not found then
        return null;
    elsif v_schedule.paused_at is null then
        return 'not paused';
    elsif v_schedule.next_at <= clock_timestamp() then
        return 'due';
    end if;
    update jobkit.schedules s set paused_at = null, paused_by = null, pause_reason = null
    where s.name = p_name;
    perform jobkit.note(p_actor, 'resume', 'schedule', null, '{}', p_name);
    return 'resumed';
end
$$;
