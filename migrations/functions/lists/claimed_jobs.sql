-- claimed_jobs: each claimed job, and whether it waits in its worker for a slot. This is an
-- estimate, since the beginning of a job is not recorded: as many jobs as the worker has slots
-- count as running, the earliest claims first; the others that were claimed ahead wait.
create or replace view jobkit.claimed_jobs as
    select c.worker_id, c.n, c.claimed_at, u.id as job_id,
        c.ahead and c.before + u.place > coalesce((
            select sum(s.slots)
            from jobkit.workers w
            cross join lateral (
                -- Of queues that share slots, the first.
                select distinct on (coalesce(s.pool, -s.n)) s.slots
                from unnest(w.slots, w.pools) with ordinality as s (slots, pool, n)
                order by coalesce(s.pool, -s.n), s.n
            ) s
            where w.id = c.worker_id
        ), 0) as waits
    from (
        select c.*, sum(cardinality(c.job_ids)) over (
            partition by c.worker_id order by c.ahead, c.n
        ) - cardinality(c.job_ids) as before
        from jobkit.claims c
    ) c
    cross join unnest(c.job_ids) with ordinality as u (id, place);
