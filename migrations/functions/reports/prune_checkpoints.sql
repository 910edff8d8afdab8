-- prune_checkpoints: removes up to p_limit checkpoints of ended jobs that no worker removed
-- (`report`). Returns how many. A job that is gone has no claim, and without one there is no
-- further checkpoint. Jobs are looked up one by one, whatever the statistics say; the table is
-- never read as a whole.
create or replace function jobkit.prune_checkpoints(p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.checkpoints k
        where k.ctid = any (array(
            select e.ctid from jobkit.checkpoints e
            where not exists (select from jobkit.jobs j where j.id = e.job_id offset 0)
            limit p_limit for update of e skip locked
        ))
        returning k.job_id
    )
    select count(*)::integer from gone
$$;
