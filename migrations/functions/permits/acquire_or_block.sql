-- acquire_or_block: asks for a permit for each of these jobs, just taken from `ready`. If nothing
-- else waits for the key, the job may get one at once. Otherwise it is blocked, and the first jobs
-- among all that wait get what is free.
--   p_queues, p_kinds  where this worker may look for up to 1,000 more jobs of these keys to block
--   p_metered          jobs that hold a permit, and take the slots reserved for them
-- Returns the jobs that got no permit. Locks all keys in one order.
create or replace function jobkit.acquire_or_block(
    p_jobs bigint[], p_queues text[], p_kinds text[], p_metered bigint[]
) returns bigint[]
language plpgsql as $$
declare
    v_denied record;
    v_unblocked bigint[];
    v_mine bigint[];
begin
    if p_metered <> '{}' then
        perform jobkit.create_semaphores(
            array_agg(j.concurrency_group), array_agg(j.concurrency_key))
        from jobkit.jobs j where j.id = any (p_jobs || p_metered);
        perform jobkit.begin_slots(p_metered);
    end if;
    if p_jobs = '{}' then
        return p_jobs;
    end if;
    select * into v_denied from jobkit.acquire(p_jobs);
    if v_denied.jobs = '{}' then
        return v_denied.jobs;
    end if;
    perform jobkit.block(v_denied.jobs);
    v_unblocked := array(select jobkit.grant_permits(v_denied.groups, v_denied.keys, null));
    if v_unblocked <> '{}' then
        v_mine := array(select unnest(v_denied.jobs) intersect select unnest(v_unblocked));
        v_denied.jobs := array(select unnest(v_denied.jobs) except select unnest(v_mine));
        if v_mine <> '{}' then
            perform jobkit.begin_slots(v_mine);
        end if;
        -- Others take turns in `ready` with all jobs that hold permits.
        perform jobkit.wake(array_agg(distinct u.queue))
        from jobkit.unblock(array(select unnest(v_unblocked) except select unnest(v_mine))) u;
    end if;
    if v_denied.jobs <> '{}' then
        perform jobkit.block_backlog(v_denied.jobs, p_queues, p_kinds);
    end if;
    return v_denied.jobs;
end
$$;
