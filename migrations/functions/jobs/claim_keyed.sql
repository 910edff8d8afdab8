-- claim_keyed: the part of a claim that waits for other transactions (`acquire_or_block`).
--   p_metered  jobs that hold a permit, and take a slot of the rate of their key
-- Returns the jobs that the claim does not get.
-- Waits at most 100 ms for a semaphore. Then it tries each key for 2 ms, in order, so that two
-- claims do not refuse each other their keys; the timeout also ends a deadlock. Jobs whose key is
-- locked go back to ready.
create or replace function jobkit.claim_keyed(
    p_jobs bigint[], p_queues text[], p_kinds text[], p_metered bigint[]
) returns bigint[]
language plpgsql
set lock_timeout = '100ms'
as $$
declare
    v_key record;
    v_free bigint[] := '{}';
    v_held bigint[] := '{}';
begin
    return jobkit.acquire_or_block(p_jobs, p_queues, p_kinds, p_metered);
exception when lock_not_available then
    perform set_config('lock_timeout', '2ms', true);
    for v_key in
        select j.concurrency_group as grp, j.concurrency_key as key, array_agg(j.id) as jobs
        from jobkit.jobs j where j.id = any (p_jobs || p_metered) group by 1, 2 order by 2, 1
    loop
        begin
            perform jobkit.create_semaphores(array[v_key.grp], array[v_key.key]);
            v_free := v_free || v_key.jobs;
        exception when lock_not_available then
            v_held := v_held || v_key.jobs;
        end;
    end loop;
    perform jobkit.make_ready(array(select unnest(v_held) except select unnest(p_metered)));
    perform jobkit.make_ready(
        array(select unnest(v_held) intersect select unnest(p_metered)), true);
    if v_free = '{}' then
        return v_held;
    end if;
    return v_held || jobkit.acquire_or_block(
        array(select unnest(v_free) except select unnest(p_metered)), p_queues, p_kinds,
        array(select unnest(v_free) intersect select unnest(p_metered)));
end
$$;
