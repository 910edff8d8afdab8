-- miss_due: records the instant of a schedule that is due and that nobody will decide any more. The
-- caller holds the schedule.
create or replace function jobkit.miss_due(p_schedule text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    insert into jobkit.schedule_runs (schedule, instant, skipped)
    select s.name, s.next_at, case when s.paused_at is null then 'missed' else 'paused' end
    from jobkit.schedules s
    where s.name = p_schedule and s.removed_at is null and s.next_at <= clock_timestamp()
    on conflict do nothing
$$;
