-- miss_due: records the due instants of a schedule that will not be decided any more; as one row,
-- since its times cannot be read here. The caller holds the schedule.
--   p_until  the first instant of its new times, which is still to be decided; null: none
create or replace function jobkit.miss_due(p_schedule text, p_until timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_last constant timestamptz := least(clock_timestamp(), p_until - interval '1 us');
begin
    insert into jobkit.schedule_runs (schedule, instant, skipped, since)
    select s.name, greatest(s.next_at, v_last),
        case when s.paused_at is null then 'missed' else 'paused' end,
        case when s.next_at < v_last then s.next_at end
    from jobkit.schedules s
    where s.name = p_schedule and s.removed_at is null and s.next_at <= clock_timestamp()
        and s.next_at is distinct from p_until
    on conflict do nothing;
    -- If the clock was ahead, this says how far.
    update jobkit.schedules s set last_at = greatest(s.last_at, v_last)
    where s.name = p_schedule and s.removed_at is null and s.next_at <= v_last;
end
$$;
