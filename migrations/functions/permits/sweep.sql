-- The safety net under permits. After a start, a resume or a raised limit it grants what became
-- free. At any other time it should find nothing, and what it finds is counted.

-- sweep: grants free permits to blocked jobs that a worker serves, and creates missing semaphores.
-- It looks at p_limit keys with blocked jobs after the given one, before taking any lock, and fills
-- at most 20 of them.
-- Returns how many jobs became ready, and where the next page begins: after (last_group, last_key),
-- null after the last page. With 1,000 or more jobs there may be more to grant: repeat the page.
create or replace function jobkit.sweep(
    p_after_group text, p_after_key text, p_limit integer,
    out unblocked integer, out last_group text, out last_key text
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_sort = off
as $$
declare
    v_groups text[];
    v_keys text[];
    v_seen integer;
begin
    perform jobkit.decide_lock();
    unblocked := 0;
    with recursive page (grp, key) as (
        (
            select b.concurrency_group, b.concurrency_key from jobkit.blocked_executions b
            where (b.concurrency_group, b.concurrency_key) > (p_after_group, p_after_key)
            order by b.concurrency_group, b.concurrency_key limit 1
        )
        union all
        select n.concurrency_group, n.concurrency_key
        from page p
        cross join lateral (
            select b.concurrency_group, b.concurrency_key from jobkit.blocked_executions b
            where (b.concurrency_group, b.concurrency_key) > (p.grp, p.key)
            order by b.concurrency_group, b.concurrency_key limit 1
        ) n
    ), seen as materialized (
        select p.grp, p.key, row_number() over () as place from page p limit p_limit
    ), starved as (
        select e.grp, e.key, e.place
        from seen e
        left join jobkit.key_limits l on l.concurrency_group = e.grp and l.concurrency_key = e.key
        -- The grant shortens a pause that ends later than it would if it began now (`pace`).
        where (l.at is null or l.taken < l.effective_limit and not jobkit.paced(l.rate,
                case when l.paused_until <= clock_timestamp() + l.paused_for
                    then l.paused_until end, l.due_at, l.reserved))
            and (
                select true from jobkit.blocked_executions b
                where b.concurrency_group = e.grp and b.concurrency_key = e.key
                    and exists (select from jobkit.serving(b.queue, b.kind))
                limit 1
            )
        order by e.place limit 20
    )
    select array(select s.grp from starved s), array(select s.key from starved s),
        count(*), (array_agg(e.grp order by e.place desc))[1],
        (array_agg(e.key order by e.place desc))[1]
    into v_groups, v_keys, v_seen, last_group, last_key
    from seen e;
    -- With that many starved keys, the page ends at the last of them.
    if cardinality(v_groups) = 20 then
        last_group := v_groups[20];
        last_key := v_keys[20];
    elsif v_seen < p_limit then
        last_group := null;
        last_key := null;
    end if;
    if v_groups <> '{}' then
        perform jobkit.create_semaphores(v_groups, v_keys);
        update jobkit.semaphores s set crowded = true, from_priority = -3, from_id = 0
        from unnest(v_groups, v_keys) as k (grp, key)
        where s.concurrency_group = k.grp and s.concurrency_key = k.key
            and (s.from_id > 0 or not s.crowded);
        unblocked := jobkit.grant_and_wake(v_groups, v_keys, null);
    end if;
end
$$;
