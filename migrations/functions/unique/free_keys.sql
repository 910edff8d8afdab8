-- free_keys: the keys of jobs that end; with p_kept but for those that `unique_for` keeps. It waits
-- for nobody: a row that a producer has locked to take it over is left behind, and holds nothing
-- once its job is gone. Only rows that say one of these jobs: a late end frees no other's key.
create or replace function jobkit.free_keys(p_jobs bigint[], p_kept boolean) returns void
language plpgsql as $$
begin
    delete from jobkit.unique_keys u
    where u.ctid = any (array(
        select k.ctid from jobkit.unique_keys k
        where k.job_id = any (p_jobs)
            and (not p_kept or k.held_until is null or k.held_until <= clock_timestamp())
        for update skip locked
    ));
end
$$;
