-- room: how many slots of a rate are free at an instant; null without a rate. This is GCRA, the
-- generic cell rate algorithm (ITU-T I.371): each slot taken moves `tat` on by p_rate, and a slot
-- is free while `tat` is no further ahead than p_burst - 1 slots.
create or replace function jobkit.room(
    p_rate interval, p_burst integer, p_tat timestamptz, p_paused_until timestamptz,
    p_at timestamptz
) returns integer
language sql immutable as $$
    select case
        when p_paused_until > p_at then 0
        when p_rate is not null then greatest(0, floor(p_burst
            - extract(epoch from greatest(p_tat, p_at) - p_at) / extract(epoch from p_rate)
        ))::integer
    end
$$;
