-- turn_room: how many jobs the limit and the rate of a turn allow now, and in how many seconds the
-- rate allows one more; null without one. The caller holds the turn. If the clock stepped back,
-- `tat` counts as at most a burst ahead (`claim_limited`).
create or replace function jobkit.turn_room(
    p_scope text, p_name text, p_running integer, p_every interval, p_burst integer,
    p_tat timestamptz, out room bigint, out fits_in double precision
)
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
begin
    if p_running is not null then
        room := greatest(p_running - jobkit.running_of(p_scope, p_name), 0);
    end if;
    if p_every is not null then
        p_tat := least(p_tat, v_now + p_every * p_burst);
        room := least(room, jobkit.room(p_every, p_burst, p_tat, null, v_now));
        fits_in := greatest(extract(epoch from
            greatest(p_tat, v_now) - v_now - p_every * (p_burst - 1)), 0);
    end if;
end
$$;
