-- Removes a worker as `reap_workers` does, whose lease may be valid; its claims have no worker
-- then.
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
