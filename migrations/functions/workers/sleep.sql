-- sleep: records that a worker is about to sleep, so that the next enqueue to one of these queues,
-- or to any queue with one of p_prefixes, notifies it.
create or replace function jobkit.sleep(
    p_worker bigint, p_queues text[], p_for interval, p_prefixes text[] default '{}'
) returns void
language sql as $$
    insert into jobkit.sleepers (worker_id, queues, until, prefixes)
    values (p_worker, p_queues, clock_timestamp() + p_for, p_prefixes)
    on conflict (worker_id) do update set queues = excluded.queues, until = excluded.until,
        prefixes = excluded.prefixes
$$;
