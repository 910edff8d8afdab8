-- expiry: when a job expires that is to be kept until p_wanted: then, if `finished` has that day,
-- else when the next one that it has begins, else at the end of the last; makes today's where it
-- has none. Days are missing before the first and between others once the clock has been wrong, and
-- no outcome may fail for that.
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
