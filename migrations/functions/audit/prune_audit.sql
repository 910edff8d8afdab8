-- prune_audit: removes entries older than p_keep, among the oldest p_limit. Returns how many. Ids
-- are in the order of time, except for entries made at the same moment.
-- Runs as the owner, since no other role may remove an entry. Never removes entries of the last
-- day, whoever calls it.
create or replace function jobkit.prune_audit(p_keep interval, p_limit integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.audit a
        where a.id = any (array(
            select l.id
            from (
                select e.id, e.at from jobkit.audit e order by e.id limit p_limit
                for update skip locked
            ) l
            where l.at < clock_timestamp() - greatest(p_keep, interval '1 day')
        ))
        returning a.id
    )
    select count(*)::integer from gone
$$;
revoke all on function jobkit.prune_audit from public;
