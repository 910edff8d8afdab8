-- rate_key: the same as `rate_group`, for one key; null restores the rate of its group. What it
-- frees is granted at once. Returns false if no worker has announced the group.
create or replace function jobkit.rate_key(
    p_group text, p_key text, p_rate interval, p_burst integer, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_rate constant interval := jobkit.require_rate(p_rate, p_burst);
    v_before interval;
begin
    perform jobkit.decide_lock();
    if not exists (select from jobkit.concurrency_groups g where g.name = p_group) then
        return false;
    end if;
    perform jobkit.create_semaphores(array[p_group], array[p_key]);
    select s.override_rate into v_before from jobkit.semaphores s
    where s.concurrency_group = p_group and s.concurrency_key = p_key;
    -- Crowded makes `acquire` leave the key to `grant_permits`, which looks at the clock. A key
    -- that had a rate has a `tat`: the grant clears what is left of it.
    update jobkit.semaphores s
    set override_rate = v_rate, override_burst = case when v_rate is not null then p_burst end,
        crowded = true, tat = coalesce(s.tat, clock_timestamp())
    where s.concurrency_group = p_group and s.concurrency_key = p_key;
    perform jobkit.note(p_actor, 'rate', 'concurrency_key', null, jsonb_build_object(
        'group', p_group, 'every', v_rate, 'burst', p_burst, 'before', v_before), p_key);
    perform jobkit.grant_and_wake(array[p_group], array[p_key], null);
    return true;
end
$$;
