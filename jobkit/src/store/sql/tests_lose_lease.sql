-- Removes a worker like `reap_workers`, even if its lease is valid; its claims then have no worker.
-- $1 worker
with lost as (
    insert into jobkit.lost_workers (id, name, jobs)
    select w.id, w.name, (
        select coalesce(sum(cardinality(c.job_ids)), 0) from jobkit.claims c
        where c.worker_id = w.id
    )
    from jobkit.workers w where w.id = $1
), asleep as (
    delete from jobkit.sleepers where worker_id = $1
)
delete from jobkit.workers where id = $1 returning id
