-- limit_key: sets an operator's limit for one key; null restores that of its group. What it frees
-- is granted at once, up to what a key gives in one transaction. The next sweep gives the rest, and
-- `changed_at` of the group explains that. Returns false if no worker has announced the group.
create or replace function jobkit.limit_key(
    p_group text, p_key text, p_limit integer, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_before integer;
begin
    perform jobkit.decide_lock();
    perform jobkit.refuse(case when p_limit not between 0 and 1000000 then
        'the limit of a key is 0 to 1000000, not ' || p_limit end);
    if not exists (select from jobkit.concurrency_groups g where g.name = p_group) then
        return false;
    end if;
    perform jobkit.create_semaphores(array[p_group], array[p_key]);
    select s.override_limit into v_before from jobkit.semaphores s
    where s.concurrency_group = p_group and s.concurrency_key = p_key;
    update jobkit.semaphores s set override_limit = p_limit
    where s.concurrency_group = p_group and s.concurrency_key = p_key;
    perform jobkit.note(p_actor, 'limit', 'concurrency_key', null, jsonb_build_object(
        'group', p_group, 'limit', p_limit, 'before', v_before), p_key);
    if jobkit.grant_and_wake(array[p_group], array[p_key], null) >= 1000 then
        update jobkit.concurrency_groups g set changed_at = clock_timestamp()
        where g.name = p_group;
    end if;
    return true;
end
$$;
