-- prune_steps: removes up to p_limit steps of jobs that have ended, unless their dead letter may be
-- replayed. Returns how many. A job that is gone has no claim, and without one there is no further
-- step. Jobs are looked up one by one, whatever the statistics say; the table is never read as a
-- whole.
create or replace function jobkit.prune_steps(p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.steps k
        where k.ctid = any (array(
            select e.ctid from jobkit.steps e
            where not exists (select from jobkit.jobs j where j.id = e.job_id offset 0)
                and not exists (
                    select from jobkit.dead_letters d
                    where d.job_id = e.job_id and d.state <> 'resolved' offset 0
                )
            limit p_limit for update of e skip locked
        ))
        returning k.job_id
    )
    select count(*)::integer from gone
$$;
