-- prune_runs: removes what schedules did longer ago than p_keep, p_limit rows at most. Returns how
-- many. (What was fired is never fired again all the same: `last_at` says so.) What an operator
-- deleted stays as a row that says so: a binary may declare it when it next starts.
create or replace function jobkit.prune_runs(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
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
