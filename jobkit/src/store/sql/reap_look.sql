-- reap: whether a lease has lapsed, whether a claim has no worker, and when that was so.
-- $1 reaper
select exists (
        select from jobkit.workers w
        where jobkit.has_lapsed(w, (select r.lease from jobkit.workers r where r.id = $1))
    ) as lapsed,
    exists (
        select from jobkit.claims c
        where not exists (select from jobkit.workers w where w.id = c.worker_id)
    ) as orphaned,
    clock_timestamp() as at
