-- prune_keys: removes rows of keys that hold nothing any more, p_limit at most: those that
-- `unique_for` has kept until now, those that were left behind, and those that say what no job may
-- ask for. Returns how many. Jobs are looked up one by one, as by `prune_checkpoints`.
create or replace function jobkit.prune_keys(p_limit integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_pruned integer;
begin
    delete from jobkit.unique_keys u
    where u.ctid = any (array(
        select k.ctid from jobkit.unique_keys k
        where (k.held_until is null or k.held_until <= clock_timestamp() or k.job_id < 1
                or k.held_until >= clock_timestamp() + interval '367 days')
            and not exists (select from jobkit.jobs j where j.id = k.job_id offset 0)
            and k.follower_id is null
        limit p_limit for update of k skip locked
    ));
    get diagnostics v_pruned = row_count;
    return v_pruned;
end
$$;
