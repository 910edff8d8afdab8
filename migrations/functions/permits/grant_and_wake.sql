-- grant_and_wake: `grant_permits`, for callers that do nothing else with the jobs: makes them ready
-- and wakes workers. Returns how many there were.
create or replace function jobkit.grant_and_wake(p_groups text[], p_keys text[], p_freed integer[])
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_unblocked constant bigint[] := array(select jobkit.grant_permits(p_groups, p_keys, p_freed));
begin
    if v_unblocked <> '{}' then
        perform jobkit.wake(array_agg(distinct u.queue)) from jobkit.unblock(v_unblocked) u;
    end if;
    return cardinality(v_unblocked);
end
$$;
