-- edit_schedule: changes the fields of a schedule that the JSON object names: times (with next_at,
-- computed from them), catch_up (with its max and window), overlap, jitter, queue, priority,
-- concurrency_key; and the payload, if p_args is not null. From then on code leaves these fields
-- alone. No instant that was decided is repeated, whatever the new times are.
--   p_missing  if the times change and an instant is due by the old ones, record it as missed;
--              otherwise nothing happens and null is returned: `fire` must decide it first
-- Returns whether the schedule exists.
create or replace function jobkit.edit_schedule(
    p_name text, p_changes jsonb, p_args text, p_actor text, p_missing boolean default true
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_old jobkit.schedules;
    v_new jobkit.schedules;
    v_fields text[];
begin
    perform jobkit.require_read_committed();
    select * into v_old from jobkit.schedules s
    where s.name = p_name and s.removed_at is null for update;
    if not found then
        return false;
    end if;
    if p_args is not null and v_old.concurrency_key is not null
        and not p_changes ? 'concurrency_key'
    then
        raise exception 'jobkit: the concurrency key of the new payload cannot be computed here'
            using errcode = 'JK004', hint = 'Edit the schedule from a program that has its job '
                'type, or delete the schedule and create it again.';
    end if;
    v_new := jsonb_populate_record(v_old, p_changes);
    perform jobkit.require_schedule(v_new, coalesce(p_args, v_old.args::text)),
        jobkit.require_payload(v_old.kind, p_args);
    if p_changes ? 'times' and v_old.next_at <= clock_timestamp() then
        if not p_missing then
            return null;
        end if;
        perform jobkit.miss_due(p_name, v_new.next_at);
    end if;
    v_fields := array(
        select f.field from unnest('{times,catch_up,overlap,jitter,queue}'::text[]) as f (field)
        where p_changes ? f.field
    ) || case when p_args is not null then '{args}'::text[] else '{}' end
        || case when p_changes ? 'priority' then '{job}'::text[] else '{}' end;
    update jobkit.schedules s
    set times = v_new.times, next_at = v_new.next_at, catch_up = v_new.catch_up,
        catch_up_max = v_new.catch_up_max, catch_up_window = v_new.catch_up_window,
        overlap = v_new.overlap, jitter = v_new.jitter, queue = v_new.queue,
        priority = v_new.priority,
        concurrency_key = v_new.concurrency_key, args = coalesce(p_args::json, s.args),
        edited = array(select distinct e.field from unnest(s.edited || v_fields) as e (field)
            order by e.field)
    where s.name = p_name;
    perform jobkit.undecide(array[p_name]);
    if v_new.next_at is not null then
        perform jobkit.wake_due(v_new.next_at);
    end if;
    perform jobkit.note(p_actor, 'edit', 'schedule', null, jsonb_strip_nulls(jsonb_build_object(
        'changed', v_fields, 'times', case when p_changes ? 'times' then v_new.times end,
        'times_before', case when p_changes ? 'times' then v_old.times end)), p_name);
    return true;
end
$$;
