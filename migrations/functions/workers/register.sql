-- register: a worker begins, with a lease of its own. p_kinds: what it knows, as in `claim`.
-- p_slots: how many jobs of each queue it runs at a time, for those who ask why a job waits.
-- p_pools, p_weights: which of these share slots, and how they take turns (null: in their order). A
-- name that ends in a star stands for all queues that begin so. p_declaration, p_zones: what it
-- declared of schedules, and which rules of time zones it goes by.
create or replace function jobkit.register(
    p_worker bigint, p_name text, p_queues text[], p_kinds text[], p_lease interval,
    p_slots integer[] default '{}', p_pools integer[] default '{}',
    p_weights integer[] default '{}', p_declaration bigint default null,
    p_zones text default null
) returns void
language plpgsql as $$
begin
    insert into jobkit.workers (id, name, queues, kinds, lease, lease_until, slots,
        pools, weights, declaration, zones, prefixes)
    values (p_worker, p_name, p_queues, p_kinds, p_lease, clock_timestamp() + p_lease, p_slots,
        p_pools, p_weights, p_declaration, p_zones, array(
            select left(q.name, -1) from unnest(p_queues) as q (name)
            where right(q.name, 1) = '*'));
end
$$;
