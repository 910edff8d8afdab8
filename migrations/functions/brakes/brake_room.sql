-- brake_room: how many jobs the limit and the rate of a brake allow now, and when (seconds from
-- now) the rate will allow one more; null where it has none. For whoever holds the row's lock.
-- The rate is the generic cell rate algorithm (GCRA) of ATM's traffic management, ITU-T I.371.
create or replace function jobkit.brake_room(
    p_brake jobkit.brakes, out room bigint, out fits_in double precision
)
language plpgsql as $$
declare
    v_each double precision;                     -- seconds from one job to the next
    v_used double precision;                     -- seconds that are used already
begin
    if p_brake.running_limit is not null then
        room := greatest(
            p_brake.running_limit - jobkit.running_of(p_brake.scope, p_brake.name), 0);
    end if;
    if p_brake.rate_count is not null then
        v_each := extract(epoch from p_brake.rate_interval) / p_brake.rate_count;
        v_used := greatest(extract(epoch from p_brake.next_at - clock_timestamp()), 0);
        room := least(room, greatest(floor(p_brake.rate_burst - v_used / v_each), 0));
        fits_in := greatest(v_used - (p_brake.rate_burst - 1) * v_each, 0);
    end if;
end
$$;
