-- slots_end: the latest plausible `tat` for a limiter's key at this rate: a burst after the last
-- slot kept for a job, or after the longest wait for a slot (a minute). A later one comes from a
-- slower rate, or from a clock that stepped back.
create or replace function jobkit.slots_end(
    p_limiter text, p_key text, p_at timestamptz, p_every interval, p_burst integer
) returns timestamptz
language sql stable as $$
    select greatest(p_at + interval '1 min', (
        select max(k.slot_at) from jobkit.kept_slots k where k.concurrency_group = p_limiter
            and k.concurrency_key = p_key and k.every = p_every and k.kept_at <= p_at
    )) + p_every * p_burst
$$;
