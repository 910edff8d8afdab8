-- ready_queues: queues with ready jobs, by name, at most p_most (null: all). Steps along the
-- primary key of `ready`: it reads one row for each queue, not the backlog.
create or replace function jobkit.ready_queues(p_most integer default null)
returns table (queue text)
language sql stable as $$
    with recursive q (n, queue) as (
        (select 1, r.queue from jobkit.ready r order by r.queue limit 1)
        union all
        select q.n + 1, e.queue
        from q
        cross join lateral (
            select r.queue from jobkit.ready r where r.queue > q.queue order by r.queue limit 1
        ) e
        where p_most is null or q.n < p_most
    )
    select q.queue from q
$$;
