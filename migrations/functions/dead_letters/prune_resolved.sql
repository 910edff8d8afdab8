-- prune_resolved: removes dead letters that were resolved longer ago than p_keep. Returns how many.
create or replace function jobkit.prune_resolved(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.dead_letters d
        where d.id = any (array(
            select l.id from jobkit.dead_letters l
            where l.state = 'resolved' and l.resolved_at < clock_timestamp() - p_keep
            order by l.resolved_at, l.id limit p_limit for update skip locked
        ))
        returning d.id
    )
    select count(*)::integer from gone
$$;
