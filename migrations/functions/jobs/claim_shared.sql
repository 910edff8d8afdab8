-- claim_shared: the scan of a claim above marks, or of queues that share slots (see `claim`). Each
-- pool is filled from its queues in their order, up to its room and to the slots of each queue; a
-- queue without a pool is limited by its own slots. A queue without room left is not read. Returns
-- the positions of the rows, locked.
create or replace function jobkit.claim_shared(
    p_kinds text[], p_queues text[], p_slots integer[], p_marks bigint[],
    p_first integer[], p_last integer[], p_pools integer[], p_rooms integer[]
) returns tid[]
language plpgsql as $$
declare
    v_all tid[] := '{}';
    v_at tid[];
    v_room integer;
    v_pool integer;
begin
    if p_rooms = '{}' then
        return jobkit.claim_above(p_kinds, p_queues, p_slots, p_marks, p_first, p_last);
    elsif p_marks = '{}' then
        return array(
            select n.at
            from unnest('{null}'::integer[] || p_rooms) with ordinality as g (room, number)
            cross join lateral (
                select f.at
                from unnest(p_queues, p_slots, p_pools) as q (name, slots, pool)
                cross join lateral (
                    select f.ctid as at from jobkit.ready f
                    where f.queue = q.name and f.kind = any (p_kinds)
                    order by f.priority, f.without_permit, f.job_id
                    limit q.slots for update of f skip locked
                ) f
                where coalesce(q.pool, 0) = g.number - 1
                limit g.room
            ) n
        );
    end if;
    for i in 1..cardinality(p_queues) loop
        v_pool := p_pools[i];
        v_room := least(p_slots[i], p_rooms[v_pool]);
        if v_room > 0 then
            v_at := jobkit.claim_above(p_kinds, p_queues[i:i], array[v_room],
                p_marks[i * 14 - 13:i * 14], p_first[i:i], p_last[i:i]);
            v_all := v_all || v_at;
            if v_pool is not null then
                p_rooms[v_pool] := p_rooms[v_pool] - cardinality(v_at);
            end if;
        end if;
    end loop;
    return v_all;
end
$$;
