-- cap_leases: shortens leases that end later than one that begins now: they were renewed before the
-- clock stepped back. So the step delays the jobs of a dead worker by one lease at most; live
-- workers renew within it. Skips locked rows until the next heartbeat of any worker.
create or replace function jobkit.cap_leases() returns void
language sql as $$
    update jobkit.workers w set lease_until = clock_timestamp() + w.lease
    where w.id = any (array(
        select l.id from jobkit.workers l where l.lease_until > clock_timestamp() + l.lease
        for no key update skip locked
    ))
$$;
