-- register: adds a worker with a lease of its own.
--   p_kinds                 the kinds it knows, as for `claim`
--   p_slots                 how many jobs of each queue it runs at a time, to explain why a job
--                           waits
--   p_pools, p_weights      which queues share slots, and how they take turns (null: in their
--                           order)
--   p_declaration, p_zones  its declaration of schedules, and its time zone rules
-- A queue name that ends in a star stands for all queues with that prefix.
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
