-- take_slot: takes a slot of a limiter for a running job; if none is free, one in the future.
--   p_limiter, p_key  the limiter, and the key
--   p_job             the job; it has one slot, and may ask twice
--   p_most            how long it will wait (a minute at most); a slot further away is kept for it
--                     until it asks again. Null: it takes a slot that is free now, or none
-- Returns `wait`, the time until the slot, and `taken`. No row: no worker has announced the
-- limiter.
-- Locks the key for this call only. How slots, pauses and clocks that step back are handled, and
-- why: docs/decisions/0018-rates.md (Limiters).
create or replace function jobkit.take_slot(
    p_limiter text, p_key text, p_job bigint, p_most interval
) returns table (wait interval, taken boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_key record;
    v_now timestamptz;
    v_from timestamptz;
    v_tat timestamptz;
    v_at timestamptz;
begin
    perform jobkit.decide_lock();
    if not exists (
        select from jobkit.limits l where l.scope = 'limiter' and l.name = p_limiter
    ) then
        return;
    end if;
    perform jobkit.create_semaphores(array[p_limiter], array[p_key]);
    select l.tat, l.paused_until, l.paused_for, coalesce(l.rate, '0') as every,
        coalesce(l.burst, 1) as burst into v_key
    from jobkit.key_limits l where l.concurrency_group = p_limiter and l.concurrency_key = p_key;
    v_now := clock_timestamp();
    if v_key.paused_until > v_now + v_key.paused_for then
        v_key.paused_until := v_now + v_key.paused_for;
        update jobkit.semaphores s set paused_until = v_key.paused_until
        where s.concurrency_group = p_limiter and s.concurrency_key = p_key;
    end if;
    v_from := greatest(v_now, v_key.paused_until);
    select k.slot_at into v_at from jobkit.kept_slots k
    where k.concurrency_group = p_limiter and k.concurrency_key = p_key and k.job_id = p_job
        and k.slot_at >= v_from and k.kept_at <= v_now and k.every = v_key.every;
    if v_at is null then
        v_tat := greatest(v_from, case when v_key.every > '0' then least(v_key.tat,
            case when v_key.tat > v_now then jobkit.slots_end(
                p_limiter, p_key, v_now, v_key.every, v_key.burst) end) end);
        v_at := greatest(v_from, v_tat - v_key.every * (v_key.burst - 1));
        if p_most is not null or v_at <= v_now or v_key.tat > v_tat then
            update jobkit.semaphores s set tat = v_tat + v_key.every
                * (p_most is not null or v_at <= v_now)::integer
            where s.concurrency_group = p_limiter and s.concurrency_key = p_key;
        end if;
    end if;
    wait := v_at - v_now;
    taken := wait <= least(coalesce(p_most, '0'), '1 min');
    if taken then
        delete from jobkit.kept_slots k where k.concurrency_group = p_limiter
            and k.concurrency_key = p_key and k.job_id = p_job;
    elsif p_most is not null then
        insert into jobkit.kept_slots as k
        values (p_limiter, p_key, p_job, v_at, v_key.every, v_now)
        on conflict (concurrency_group, concurrency_key, job_id) do update
            set slot_at = excluded.slot_at, every = excluded.every, kept_at = excluded.kept_at
            where k.slot_at <> excluded.slot_at;
    end if;
    -- The key is deleted when its slots are free again (`pace`), which needs no hint.
    insert into jobkit.due_keys values (p_limiter, p_key, v_at + v_key.every * v_key.burst)
    on conflict do nothing;
    return next;
end
$$;
