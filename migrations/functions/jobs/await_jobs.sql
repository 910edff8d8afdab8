-- await_jobs: requests a notification at the end of these jobs, and returns the state of each:
--   live  after this mark commits, the session that ends the job sends a notification
--   held  another session has its row locked, perhaps to end it: ask again soon
--   gone  it does not exist any more, or never did
-- Waits for nobody. A session that ends a job locks its row first: either it reads the mark, or the
-- row is found locked here.
create or replace function jobkit.await_jobs(p_jobs bigint[])
returns table (job_id bigint, state text)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform jobkit.require_read_committed();
    update jobkit.jobs j set awaited = true
    where j.id = any (array(
        select k.id from jobkit.jobs k
        where k.id = any (p_jobs) and k.awaited is not true
        order by k.id for no key update skip locked
    ));
    return query
    select a.id, case when j.awaited then 'live' when j.id is not null then 'held' else 'gone' end
    from unnest(p_jobs) as a (id)
    left join lateral (
        select k.id, k.awaited from jobkit.jobs k where k.id = a.id offset 0
    ) j on true;
end
$$;
