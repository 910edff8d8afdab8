-- prune_batches: removes batches that ended longer ago than p_keep and whose callbacks have ended.
-- Returns how many.
create or replace function jobkit.prune_batches(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.batches b
        where b.id = any (array(
            select e.id from jobkit.batches e
            where e.ended_at < clock_timestamp() - p_keep
                and not exists (select from jobkit.jobs j where j.callback_of = e.id)
                and not exists (
                    select from jobkit.dead_letters d
                    where d.callback_of = e.id and d.state <> 'resolved'
                )
            order by e.ended_at, e.id limit p_limit for update skip locked
        ))
        returning b.id
    ), counts as (
        delete from jobkit.batch_counts c where c.batch_id in (select g.id from gone g)
    )
    select count(*)::integer from gone
$$;
