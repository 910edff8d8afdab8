-- matching_queues: queues with ready jobs whose names begin with one of these prefixes and come
-- after p_after, at most p_most of each. Steps along the primary key of `ready`, as `ready_queues`
-- does: it reads one row for each queue, not the backlog.
create or replace function jobkit.matching_queues(
    p_prefixes text[], p_after text, p_most integer
) returns table (queue text)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
    select distinct m.queue
    from unnest(p_prefixes) as p (prefix)
    cross join lateral (
        with recursive q (n, queue) as (
            (
                select 1, r.queue from jobkit.ready r
                where r.queue >= p.prefix and r.queue > p_after order by r.queue limit 1
            )
            union all
            select q.n + 1, e.queue
            from q
            cross join lateral (
                select r.queue from jobkit.ready r where r.queue > q.queue order by r.queue limit 1
            ) e
            where q.n < p_most and q.queue ^@ p.prefix
        )
        select q.queue from q where q.queue ^@ p.prefix
    ) m
$$;
