-- brake_room: how many jobs the limit and rate of a brake allow now, and in how many seconds the
-- rate allows one more; null without one. The caller holds the row. If the clock stepped back,
-- `next_at` counts as at most a burst ahead (`claim_braked`).
create or replace function jobkit.brake_room(
    p_brake jobkit.brakes, out room bigint, out fits_in double precision
)
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_each interval;                             -- from one job to the next
begin
    if p_brake.running_limit is not null then
        room := greatest(
            p_brake.running_limit - jobkit.running_of(p_brake.scope, p_brake.name), 0);
    end if;
    if p_brake.rate_count is not null then
        v_each := greatest(p_brake.rate_interval / p_brake.rate_count, '1 microsecond');
        p_brake.next_at := least(p_brake.next_at, v_now + v_each * p_brake.rate_burst);
        room := least(room, jobkit.room(v_each, p_brake.rate_burst, p_brake.next_at, null, v_now));
        fits_in := greatest(extract(epoch from
            greatest(p_brake.next_at, v_now) - v_now - v_each * (p_brake.rate_burst - 1)), 0);
    end if;
end
$$;
