-- undecide: called when the clock may have stepped back behind the last instant of a schedule. What
-- was skipped from its next instant on is undecided again, until its time comes. A row that stands
-- for several instants is cut before that instant. Fired instants stay fired. The caller holds the
-- schedules.
create or replace function jobkit.undecide(p_schedules text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ahead text[] := array(
        select s.name from jobkit.schedules s
        where s.name = any (p_schedules) and s.last_at >= s.next_at
            and s.last_at > clock_timestamp()
    );
begin
    with undecided as (
        delete from jobkit.schedule_runs r using jobkit.schedules s
        where s.name = any (v_ahead) and r.schedule = s.name and r.instant >= s.next_at
            and r.skipped is not null
        returning r.schedule, r.skipped, r.since, s.next_at
    )
    insert into jobkit.schedule_runs (schedule, instant, skipped, since)
    select u.schedule, u.next_at - interval '1 us', u.skipped, u.since
    from undecided u where u.since < u.next_at
    on conflict do nothing;
    update jobkit.schedules s set last_at = s.next_at - interval '1 s'
    where s.name = any (v_ahead);
end
$$;
