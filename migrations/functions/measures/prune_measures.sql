-- prune_measures: removes measures older than p_keep, and single minutes after a day; at most
-- p_limit rows of each. Returns how many.
create or replace function jobkit.prune_measures(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.measures m
        where m.ctid = any (array(
            select l.at
            from (values (1, least(p_keep, interval '1 day')), (15, p_keep)) as s (span, keep)
            cross join lateral (
                select e.ctid as at from jobkit.measures e
                where e.span = s.span and e.minute < now() - s.keep
                order by e.minute limit p_limit for update skip locked
            ) l
        ))
        returning m.minute
    )
    select count(*)::integer from gone
$$;
