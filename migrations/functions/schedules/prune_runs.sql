-- prune_runs: removes what schedules did longer ago than p_keep, p_limit rows at most. Returns how
-- many. (What was fired is never fired again all the same: `last_at` says so.) Then what an
-- operator deleted and no binary has declared for as long.
create or replace function jobkit.prune_runs(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    delete from jobkit.schedules s
    where s.name in (
        select l.name from jobkit.schedules l
        where greatest(l.removed_at, l.declared_at) < now() - p_keep and l.removed_at is not null
        limit p_limit for update skip locked
    );
    with gone as (
        delete from jobkit.schedule_runs r
        where r.ctid = any (array(
            select l.ctid from jobkit.schedule_runs l
            where l.decided_at < now() - p_keep
            order by l.decided_at limit p_limit for update skip locked
        ))
        returning r.instant
    )
    select count(*)::integer from gone
$$;
