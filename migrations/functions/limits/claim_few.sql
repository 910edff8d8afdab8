-- claim_few: picks at most p_room jobs of each kind in p_few, which a limit or rate leaves little
-- room, and jobs of the other kinds as far as slots allow; by priority, then age.
-- Returns the positions of the rows, locked, and the kinds of p_few that have room, as workers name
-- them.
-- If there are marks, p_few are looked for in the first 1,000 rows of a queue: marks are kept for
-- the other kinds, so that a scan does not begin at rows it may not take. It selects the few
-- without locks: a scan above the marks would skip rows that were locked and not taken.
create or replace function jobkit.claim_few(
    p_kinds text[], p_queues text[], p_slots integer[], p_marks bigint[],
    p_first integer[], p_last integer[], p_few text[], p_room integer[],
    p_pools integer[], p_rooms integer[],
    out at tid[], out few text[]
)
language plpgsql as $$
declare
    v_others constant text[] := array(select k.kind from unnest(p_kinds) as k (kind)
        where jobkit.unversioned(k.kind) <> all (p_few));
    v_few tid[] := '{}';
begin
    few := array(select k.kind from unnest(p_kinds) as k (kind)
        where p_room[array_position(p_few, jobkit.unversioned(k.kind))] > 0);
    if few <> '{}' then
        with found as materialized (
            select r.*, k.name, q.number, q.pool, row_number() over (
                partition by k.name order by r.priority, r.without_permit, r.job_id) as place
            from unnest(array_append(few, null)) as f (kind)
            cross join lateral (select coalesce(jobkit.unversioned(f.kind), '') as name) k
            cross join unnest(p_queues, p_slots, p_pools) with ordinality
                as q (name, slots, pool, number)
            cross join lateral (
                select h.* from (
                    select r.ctid as at, r.queue, r.kind, r.priority, r.without_permit, r.job_id
                    from jobkit.ready r where r.queue = q.name
                    order by r.priority, r.without_permit, r.job_id
                    limit case when p_marks <> '{}' or f.kind is null then 1000 end
                ) h
                where h.kind = f.kind or f.kind is null and h.kind = any (v_others)
                limit q.slots
            ) r
        ), placed as (
            select f.at, f.queue, f.name, f.number, f.pool, row_number() over (
                partition by f.queue order by f.priority, f.without_permit, f.job_id) as place
            from found f where f.name = '' or f.place <= p_room[array_position(p_few, f.name)]
        ), pooled as (
            select p.at, p.name, p.pool, row_number() over (
                partition by p.pool order by p.number, p.place) as place
            from placed p where p.place <= p_slots[p.number]
        ), locked as (
            select r.ctid as at, r.queue from jobkit.ready r
            where r.ctid = any (array(select p.at from pooled p where p.name <> ''
                and (p.pool is null or p.place <= p_rooms[p.pool])))
            for update skip locked
        )
        select coalesce(array_agg(l.at), '{}'), array(
            select q.slots - (select count(*) from locked l where l.queue = q.name)
            from unnest(p_queues, p_slots) with ordinality as q (name, slots, place)
            order by q.place), array(
            select g.room - (select count(*) from locked l
                where p_pools[array_position(p_queues, l.queue)] = g.pool)
            from unnest(p_rooms) with ordinality as g (room, pool) order by g.pool)
        into v_few, p_slots, p_rooms from locked l;
    end if;
    if p_marks <> '{}' or p_rooms <> '{}' then
        at := jobkit.claim_shared(v_others, p_queues, p_slots, p_marks, p_first, p_last, p_pools,
            p_rooms);
    else
        at := array(
            select f.at from unnest(p_queues, p_slots) as q (name, slots)
            cross join lateral (
                select f.ctid as at from jobkit.ready f
                where f.queue = q.name and f.kind = any (v_others)
                order by f.priority, f.without_permit, f.job_id
                limit q.slots for update of f skip locked
            ) f);
    end if;
    at := v_few || at;
end
$$;
