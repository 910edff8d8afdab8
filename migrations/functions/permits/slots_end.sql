-- slots_end: the latest that the `tat` of a limiter's key can be by the rate that holds: behind a
-- burst, and the slots that are kept for jobs, or that somebody waits for where he asked (a minute
-- at most). A later one is of a slower rate, or of a clock that stepped back.
create or replace function jobkit.slots_end(
    p_limiter text, p_key text, p_at timestamptz, p_every interval, p_burst integer
) returns timestamptz
language sql stable as $$
    select greatest(p_at + interval '1 min', (
        select max(k.slot_at) from jobkit.kept_slots k where k.concurrency_group = p_limiter
            and k.concurrency_key = p_key and k.every = p_every and k.kept_at <= p_at
    )) + p_every * p_burst
$$;
