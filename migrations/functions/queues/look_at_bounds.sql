-- look_at_bounds: counts the waiting jobs of queues that limit them, and records which queues are
-- full: from reaching the limit until a tenth of it is free again.
--   p_queue  look at this queue, now
-- Returns how many queues it looked at. Whichever worker comes first looks at each queue once a
-- second, or less often if that would take more than a twentieth of the time. It looks at once if
-- the last look is in the future, since the clock stepped back.
create or replace function jobkit.look_at_bounds(p_queue text default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_bound jobkit.bounds;
    v_began timestamptz;
    v_now timestamptz;
    v_most integer;
    v_waiting integer;
    v_full boolean;
    v_looked integer := 0;
begin
    for v_bound in
        select * from jobkit.bounds b
        where b.queue = p_queue or p_queue is null
            and (b.next_look <= clock_timestamp() or b.looked_at > clock_timestamp())
        order by b.queue for no key update skip locked
    loop
        v_began := clock_timestamp();
        select coalesce(l.waiting, l.code_waiting) into v_most
        from jobkit.limits l where l.scope = 'queue' and l.name = v_bound.queue;
        v_waiting := jobkit.waiting_in(v_bound.queue, v_most + 1, true);
        v_now := clock_timestamp();
        v_full := v_waiting >= v_most - case when v_bound.full_since is null then 0
            else greatest(v_most / 10, 1) - 1 end;
        update jobkit.bounds b
        set waiting = v_waiting, looked_at = v_now,
            open_until = case when v_full then '-infinity' else v_now + interval '5 s' end,
            full_since = case when v_full then least(b.full_since, v_now) end,
            next_look = v_now + greatest(interval '1 s', (v_now - v_began) * 20)
        where b.queue = v_bound.queue;
        v_looked := v_looked + 1;
    end loop;
    return v_looked;
end
$$;
