-- claimed_jobs: each claimed job, and whether it waits in its worker for a slot. That is an
-- estimate, since nobody notes a begin here: as many as the worker has slots in all are taken to
-- run, those that were claimed first, and of what was claimed ahead the rest waits.
create or replace view jobkit.claimed_jobs as
    select c.worker_id, c.n, c.claimed_at, u.id as job_id,
        c.ahead and c.before + u.place > coalesce((
            select sum(s.slots)
            from jobkit.workers w
            cross join lateral (
                -- Of those that share slots the first.
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
