-- expiry: when a job that should be kept until p_wanted expires. If `finished` has no partition for
-- that day, it is the beginning of the next day that has one, or else the end of the last. Creates
-- today's partition if there are none. Days may be missing at the start, or in between if the clock
-- was wrong: no outcome may fail because of that.
create or replace function jobkit.expiry(p_wanted timestamptz) returns timestamptz
language plpgsql as $$
declare
    v_day date;
begin
    select min(d.day) into v_day from jobkit.finished_days d
    where d.day >= (p_wanted at time zone 'UTC')::date;
    if v_day is not null then
        return greatest(p_wanted, v_day::timestamp at time zone 'UTC');
    end if;
    if not exists (select from jobkit.finished_days) then
        perform jobkit.finished_prepare(0);
    end if;
    return least(p_wanted, (
        select (max(d.day) + 1)::timestamp at time zone 'UTC' - interval '1 microsecond'
        from jobkit.finished_days d
    ));
end
$$;
