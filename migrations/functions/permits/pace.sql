-- pace: computes the times of a key, and records when to look at it again (`due_keys`). The caller
-- holds the semaphore, and writes what this returns.
--   p_group, p_key, p_at  the key, and the time
--   p_reserved, p_begun   slots reserved so far, and jobs that take theirs now
--   p_taken, p_blocked    permits taken, and whether jobs may be blocked
-- Returns tat and paused_until, corrected if the clock stepped back or a rate was slower; crowded:
-- `acquire` gives nothing at once; kept: times or a rate of its own keep the semaphore.
-- The key is due when an unreserved slot becomes free, or when its state can be deleted. Promoters
-- are told if they do not expect that time. Why a claim leaves a key due that a grant does not:
-- docs/decisions/0018-rates.md.
create or replace function jobkit.pace(
    p_group text, p_key text, p_at timestamptz, p_reserved integer, p_begun integer,
    p_taken integer, p_blocked boolean, out tat timestamptz, out paused_until timestamptz,
    out crowded boolean, out kept boolean
)
language plpgsql as $$
declare
    v_key record;
    v_next timestamptz;
    v_due timestamptz;
begin
    select l.* into v_key
    from jobkit.key_limits l where l.concurrency_group = p_group and l.concurrency_key = p_key;
    paused_until := case when v_key.paused_until > p_at
        then least(v_key.paused_until, p_at + v_key.paused_for) end;
    tat := p_at + v_key.rate * v_key.burst;
    if v_key.limiter then
        delete from jobkit.kept_slots k where k.concurrency_group = p_group
            and k.concurrency_key = p_key
            and (k.slot_at < p_at or k.kept_at > p_at or k.every is distinct from v_key.rate);
        tat := jobkit.slots_end(p_group, p_key, p_at, v_key.rate, v_key.burst);
    end if;
    tat := least(greatest(v_key.tat, p_at), tat) + v_key.rate * p_begun;
    tat := case when v_key.rate is not null and tat > p_at then tat end;
    if p_reserved < v_key.burst then
        v_next := tat - v_key.rate * (v_key.burst - 1 - p_reserved);
    end if;
    crowded := p_blocked or paused_until is not null or v_key.override_rate is not null;
    kept := tat is not null or paused_until is not null or v_key.override_rate is not null;
    v_due := case
        when paused_until is not null then paused_until
        when p_blocked and p_taken < v_key.effective_limit and (v_next > p_at or p_begun > 0)
            and v_next is not null then greatest(v_next, p_at)
        when not p_blocked and p_taken = 0 then tat end;
    if v_due is null then
        delete from jobkit.due_keys d
        where d.concurrency_group = p_group and d.concurrency_key = p_key;
        return;
    end if;
    if v_due < coalesce(v_key.due_at, 'infinity') and not exists (
        select from jobkit.due_keys d where d.due_at > p_at and d.due_at < v_due
    ) then
        perform jobkit.wake_due(v_due);
    end if;
    insert into jobkit.due_keys as d (concurrency_group, concurrency_key, due_at)
    values (p_group, p_key, v_due)
    on conflict (concurrency_group, concurrency_key) do update set due_at = excluded.due_at
    where d.due_at <> excluded.due_at;
end
$$;
