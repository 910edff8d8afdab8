-- sleep: notes that a worker is about to sleep, so that the next enqueue notifies it.
create or replace function jobkit.sleep(p_worker bigint, p_queues text[], p_for interval)
returns void
language sql as $$
    insert into jobkit.sleepers (worker_id, queues, until)
    values (p_worker, p_queues, clock_timestamp() + p_for)
    on conflict (worker_id) do update set queues = excluded.queues, until = excluded.until
$$;
