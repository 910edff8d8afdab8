-- prune_keys: removes up to p_limit rows of keys that hold nothing any more: kept by `unique_for`
-- until now, left behind, or kept for longer than a job may ask for. Returns how many. Looks up
-- jobs one by one, as `prune_steps` does.
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
