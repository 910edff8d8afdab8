-- register: a worker begins, with a lease of its own. p_kinds: what it knows, as in `claim`.
-- p_slots: how many jobs of each queue it runs at a time, for those who ask why a job waits.
create or replace function jobkit.register(
    p_worker bigint, p_name text, p_queues text[], p_kinds text[], p_lease interval,
    p_slots integer[] default '{}'
) returns void
language sql as $$
    insert into jobkit.workers (id, name, queues, kinds, lease, lease_until, slots)
    values (p_worker, p_name, p_queues, p_kinds, p_lease, clock_timestamp() + p_lease, p_slots)
$$;
