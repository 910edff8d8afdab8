-- pause_schedule: from now on its instants are recorded as skipped. If it is paused already, the
-- time stays and the reason is replaced. Returns whether it was not paused before; null: no such
-- schedule.
create or replace function jobkit.pause_schedule(p_name text, p_actor text, p_reason text)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_new boolean;
begin
    perform jobkit.require_read_committed();
    select s.paused_at is null into v_new from jobkit.schedules s
    where s.name = p_name and s.removed_at is null for update;
    if found then
        update jobkit.schedules s set paused_at = coalesce(s.paused_at, clock_timestamp()),
            paused_by = p_actor, pause_reason = p_reason
        where s.name = p_name;
        perform jobkit.note(p_actor, 'pause', 'schedule', null,
            jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), p_name);
    end if;
    return v_new;
end
$$;
