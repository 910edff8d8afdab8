-- paced: whether a key may have free permits that will be granted without a sweep: at `due_at`, or
-- when a job with a reserved slot begins. A due time counts only if it is not long past, and no
-- further ahead than the next slot can be (otherwise the rate was raised or the clock stepped
-- back).
create or replace function jobkit.paced(
    p_rate interval, p_paused_until timestamptz, p_due_at timestamptz, p_reserved integer
) returns boolean
language sql stable as $$
    select (p_paused_until > clock_timestamp()) is true
        or (p_due_at between clock_timestamp() - interval '5 s'
            and clock_timestamp() + coalesce(p_rate, '0')) is true
        or (p_reserved > 0) is true
$$;
