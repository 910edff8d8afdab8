-- expiry: when a job expires that is to be kept until p_wanted. If `finished` has no partition for
-- that day, then at the beginning of the next day it has, otherwise at the end of the last. Creates
-- today's partition if there are none. Days are missing at the start, or in between after the clock
-- was wrong: no outcome may fail for that.
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
