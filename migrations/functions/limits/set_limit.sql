-- set_limit: sets an operator's limit, which overrides the limit in code.
--   p_scope  queue, kind, group, limiter, or key
--   p_name   its name; of a key, that of its group or limiter
--   p_key    the key; null for the others
--   p_rule   what is to change: `running`, `rate` or `waiting`, as `read_limit` takes it
-- Running jobs continue. After a change of a group or limiter a `sweep` must follow. Returns
-- whether anything changed; null if no worker has announced the group or the limiter.
-- Waits for claims in flight, for at most two seconds.
create or replace function jobkit.set_limit(
    p_scope text, p_name text, p_key text, p_rule jsonb, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_set constant record := jobkit.read_limit(p_scope, p_rule);
    v_keyed constant boolean := p_scope in ('group', 'limiter');
    v_old jobkit.limits;
    v_new jobkit.limits;
    v_before jsonb;
    v_after jsonb;
begin
    perform jobkit.refuse('the scope "key" needs a key, and no other scope takes one')
    where (p_scope = 'key') <> (p_key is not null);
    if p_scope = 'key' then
        return jobkit.limit_key(p_name, p_key, p_rule, p_actor);
    end if;
    perform jobkit.require_read_committed();
    perform jobkit.refuse('the name of a ' || p_scope || ' must have 1 to 128 bytes, not '
        || octet_length(p_name))
    where octet_length(p_name) not between 1 and 128;
    lock table jobkit.limits in exclusive mode;
    v_old := (select l from jobkit.limits l where l.scope = p_scope and l.name = p_name);
    if v_keyed and v_old.name is null then
        return null;
    end if;
    insert into jobkit.limits as l (scope, name, running, every, burst, waiting)
    values (p_scope, p_name, v_set.running, v_set.every, v_set.burst, v_set.waiting)
    on conflict (scope, name) do update set
        running = case when p_rule ? 'running' then v_set.running else l.running end,
        every = case when p_rule ? 'rate' then v_set.every else l.every end,
        burst = case when p_rule ? 'rate' then v_set.burst else l.burst end,
        waiting = case when p_rule ? 'waiting' then v_set.waiting else l.waiting end,
        changed_at = clock_timestamp()
    returning l.* into v_new;
    v_before := jobkit.said(v_old.running, v_old.every, v_old.burst, v_old.waiting);
    v_after := jobkit.said(v_new.running, v_new.every, v_new.burst, v_new.waiting);
    if v_before = v_after then
        return false;
    end if;
    perform jobkit.fit_limits();
    perform jobkit.look_at_bounds(p_name) where p_rule ? 'waiting';
    perform jobkit.note(p_actor, 'limit', p_scope, null, jsonb_build_object(
        'before', v_before, 'after', v_after), p_name);
    perform jobkit.wake(case when p_scope = 'queue' then array[p_name]
        else array(select q.queue from jobkit.ready_queues() q) end) where not v_keyed;
    return true;
end
$$;
