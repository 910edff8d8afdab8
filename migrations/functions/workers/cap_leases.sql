-- cap_leases: a lease that ends later than one that begins now was renewed before the clock stepped
-- back. It is cut to that, so that the step costs a dead worker's jobs no more than one lease; who
-- lives beats within it. Rows that somebody holds are passed over until the next beat of anybody.
create or replace function jobkit.cap_leases() returns void
language sql as $$
    update jobkit.workers w set lease_until = clock_timestamp() + w.lease
    where w.id = any (array(
        select l.id from jobkit.workers l where l.lease_until > clock_timestamp() + l.lease
        for no key update skip locked
    ))
$$;
