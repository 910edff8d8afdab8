-- orphaned_claims: claims without a worker, regardless of leases, except those whose jobs are all
-- stuck.
create or replace function jobkit.orphaned_claims() returns table (worker_id bigint, n bigint)
language sql
set search_path = pg_catalog, pg_temp
as $$
    select c.worker_id, c.n from jobkit.claims c
    where not exists (select from jobkit.workers w where w.id = c.worker_id)
        and not c.job_ids <@ (select jobkit.stuck())
    order by c.worker_id, c.n
$$;
