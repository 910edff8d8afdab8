-- waiting_in: how many jobs wait in a queue, ready or (p_blocked) blocked; counts up to p_most.
create or replace function jobkit.waiting_in(p_queue text, p_most integer, p_blocked boolean)
returns integer
language sql stable as $$
    select count(*)::integer
    from (
        (select from jobkit.ready r where r.queue = p_queue limit p_most)
        union all
        (select from jobkit.blocked_executions b where p_blocked and b.queue = p_queue limit p_most)
        limit p_most
    ) w
$$;
