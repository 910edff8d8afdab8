-- free_keys: frees the keys of jobs that end; with p_kept, except those that `unique_for` keeps. A
-- follower gets the key, and becomes ready. Frees only rows that name one of these jobs: a late end
-- frees no other job's key.
-- Waits for nobody: a row that a producer has locked stays behind, and holds nothing once its job
-- is gone; `follow_left` finds its follower.
create or replace function jobkit.free_keys(
    p_scope text[], p_key text[], p_job bigint[], p_kept boolean
) returns void
language plpgsql
set enable_seqscan = off
set jit = off as $$
declare
    v_followed record;
begin
    with freed as (
        delete from jobkit.unique_keys u
        where u.ctid = any (array(
            select h.at
            from (select unnest(p_scope) as scope, unnest(p_key) as key, unnest(p_job) as job) e
            cross join lateral (
                select k.ctid as at from jobkit.unique_keys k
                where k.scope = e.scope and k.key = e.key and k.job_id = e.job
                    and (not p_kept or k.held_until is null or k.held_until <= clock_timestamp())
                for update skip locked
            ) h
        ))
        returning u.scope, u.key, u.job_id, u.follower_id, u.follower_until
    )
    select array_agg(f.scope) as scopes, array_agg(f.key) as keys, array_agg(f.job_id) as jobs,
        array_agg(f.follower_id) as followers, array_agg(f.follower_until) as untils
    into v_followed from freed f where f.follower_id is not null;
    if v_followed.followers is not null then
        perform jobkit.follow(v_followed.scopes, v_followed.keys, v_followed.jobs,
            v_followed.followers, v_followed.untils);
    end if;
end
$$;
