-- limit_group: sets an operator's limit for every key of a group, which overrides what workers
-- announce; null removes it. Returns false if no worker has announced the group.
create or replace function jobkit.limit_group(
    p_group text, p_limit integer, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_before integer;
begin
    perform jobkit.require_read_committed();
    perform jobkit.refuse(case when p_limit not between 0 and 1000000 then
        'the limit of a key is 0 to 1000000, not ' || p_limit end);
    lock table jobkit.concurrency_groups in exclusive mode;
    select g.override_limit into v_before from jobkit.concurrency_groups g where g.name = p_group;
    if not found then
        return false;
    end if;
    update jobkit.concurrency_groups g
    set override_limit = p_limit, changed_at = clock_timestamp()
    where g.name = p_group;
    perform jobkit.note(p_actor, 'limit', 'concurrency_group', null,
        jsonb_build_object('limit', p_limit, 'before', v_before), p_group);
    return true;
end
$$;
