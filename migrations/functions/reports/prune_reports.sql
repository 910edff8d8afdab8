-- prune_reports: removes reports of attempts that began longer ago than p_keep, at most p_limit
-- rows. Returns how many.
create or replace function jobkit.prune_reports(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.reports r
        where r.ctid = any (array(
            select e.ctid from jobkit.reports e
            where e.began_at < now() - p_keep
            order by e.began_at limit p_limit for update skip locked
        ))
        returning r.job_id
    )
    select count(*)::integer from gone
$$;
