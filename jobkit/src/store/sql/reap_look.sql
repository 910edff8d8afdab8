-- reap: whether a lease has lapsed, whether a claim has no worker, and the time of this look.
select exists (
        select from jobkit.workers w where w.lease_until < clock_timestamp()
    ) as lapsed,
    exists (
        select from jobkit.claims c
        where not exists (select from jobkit.workers w where w.id = c.worker_id)
    ) as orphaned,
    clock_timestamp() as at
