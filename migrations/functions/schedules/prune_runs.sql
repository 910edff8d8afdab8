-- prune_runs: removes runs of schedules older than p_keep, at most p_limit rows. Returns how many.
-- (`last_at` still prevents that an instant is fired again.) The row of a schedule that an operator
-- deleted stays: a binary may declare it when it next starts.
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
