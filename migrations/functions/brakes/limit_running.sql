-- limit_running: lets at most p_limit jobs of a queue or kind run at a time, over all workers; null
-- removes the limit. Running jobs continue. Returns the limit before.
create or replace function jobkit.limit_running(
    p_scope text, p_name text, p_limit integer, p_actor text default null
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_before integer;
begin
    perform jobkit.require_brake(p_scope, p_name);
    perform jobkit.refuse(case when p_limit not between 1 and 1000000 then
        'a limit must be 1 to 1000000, not ' || p_limit || '; to run nothing, pause instead' end);
    lock table jobkit.queues in exclusive mode;
    select b.running_limit into v_before from jobkit.brakes b
    where b.scope = p_scope and b.name = p_name;
    insert into jobkit.brakes as b (scope, name, running_limit) values (p_scope, p_name, p_limit)
    on conflict (scope, name) do update set running_limit = p_limit;
    perform jobkit.note(p_actor, 'limit', p_scope, null,
        jsonb_build_object('limit', p_limit, 'before', v_before), p_name);
    perform jobkit.release_brake(p_scope, p_name);
    return v_before;
end
$$;
