-- hasten_schedules: moves schedules forward whose next instant is later than their times say:
-- another binary or other time zone rules computed it, or the clock was ahead.
--   p_names, p_seen, p_times  schedules, with the `next_at` and times that the caller has seen
--   p_next                    the first instant after now
-- Skips schedules that have moved on or are locked. Returns the names of the others.
create or replace function jobkit.hasten_schedules(
    p_names text[], p_seen timestamptz[], p_times text[], p_next timestamptz[]
) returns setof text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_taken text[];
begin
    perform jobkit.require_read_committed();
    v_taken := array(
        select s.name from unnest(p_names, p_seen, p_times, p_next) as c (name, seen, times, next)
        join jobkit.schedules s on s.name = c.name and s.times = c.times
            and s.next_at = c.seen
        where s.removed_at is null and s.next_at > c.next
        order by s.name for update of s skip locked
    );
    update jobkit.schedules s set next_at = c.next
    from unnest(p_names, p_next) as c (name, next)
    where s.name = c.name and s.name = any (v_taken);
    perform jobkit.undecide(v_taken);
    perform jobkit.wake_due(min(s.next_at)) from jobkit.schedules s where s.name = any (v_taken)
    having min(s.next_at) is not null;
    return query select unnest(v_taken);
end
$$;
