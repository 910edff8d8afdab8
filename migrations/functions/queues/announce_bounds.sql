-- announce_bounds: records how many jobs may wait in these queues, as a binary says; the last start
-- of a worker wins. Locks nothing if nothing changes. An operator's bound takes precedence.
create or replace function jobkit.announce_bounds(p_queues text[], p_most integer[]) returns void
language sql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
    insert into jobkit.bounds as b (queue, announced)
    select i.queue, i.most
    from unnest(p_queues, p_most) as i (queue, most)
    where not exists (
        select from jobkit.bounds b where b.queue = i.queue and b.announced = i.most
    )
    order by i.queue
    on conflict (queue) do update set announced = excluded.announced, next_look = 'epoch'
$$;
