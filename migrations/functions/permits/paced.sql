-- paced: whether a key may have free permits and somebody will see to them: at `due_at`, or when
-- what has a slot reserved begins. A due time that is long past, or further away than a next slot
-- can be (the rate was raised, the clock stepped back), is none.
create or replace function jobkit.paced(
    p_rate interval, p_paused_until timestamptz, p_due_at timestamptz, p_reserved integer
) returns boolean
language sql stable as $$
    select (p_paused_until > clock_timestamp()) is true
        or (p_due_at between clock_timestamp() - interval '5 s'
            and clock_timestamp() + coalesce(p_rate, '0')) is true
        or (p_reserved > 0) is true
$$;
