-- pace: the times of a key that has p_reserved slots reserved by now, and of which p_begun jobs take
-- theirs at p_at; p_change permits more are taken, and p_crowded says whether jobs may be blocked.
-- Under the lock of its semaphore. A `tat` further ahead than a whole burst is of a clock that
-- stepped back, or of a slower rate. `due_at` is when the next slot is free that none is reserved
-- of; or when nothing is left to know of the key. Promoters are told of one they do not expect.
create or replace function jobkit.pace(
    p_group text, p_key text, p_at timestamptz, p_reserved bigint, p_begun bigint, p_change bigint,
    p_crowded boolean, out tat timestamptz, out paused_until timestamptz, out due_at timestamptz,
    out crowded boolean, out kept boolean
)
language plpgsql as $$
declare
    v_key record;
    v_taken bigint;
    v_next timestamptz;
begin
    select l.* into v_key
    from jobkit.limits l where l.concurrency_group = p_group and l.concurrency_key = p_key;
    v_taken := v_key.taken + p_change;
    paused_until := case when v_key.paused_until > p_at then v_key.paused_until end;
    tat := least(greatest(v_key.tat, p_at), p_at + v_key.rate * v_key.burst)
        + v_key.rate * p_begun;
    tat := case when v_key.rate is not null and tat > p_at then tat end;
    if p_reserved < v_key.burst then
        v_next := tat - v_key.rate * (v_key.burst - 1 - p_reserved);
    end if;
    crowded := p_crowded or paused_until is not null or v_key.override_rate is not null;
    kept := tat is not null or paused_until is not null or v_key.override_rate is not null;
    due_at := case
        when paused_until is not null then paused_until
        when p_crowded and v_taken < v_key.effective_limit and v_next > p_at then v_next
        when not p_crowded and v_taken = 0 then tat end;
    if due_at < coalesce(v_key.due_at, 'infinity') and not exists (
        select from jobkit.semaphores s where s.due_at > p_at and s.due_at < pace.due_at
    ) then
        perform jobkit.wake_due(due_at);
    end if;
end
$$;
