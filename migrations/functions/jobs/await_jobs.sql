-- await_jobs: has the ends of these jobs notified, and says of each where it stands:
--   live   from the commit of its mark on, whoever ends it notifies
--   held   somebody has its row in hand: perhaps to end it. Ask again soon
--   gone   it is not there any more, or never was
-- It waits for nobody. Whoever ends a job holds its row first: either he reads the mark, or we find
-- the row in his hands.
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
