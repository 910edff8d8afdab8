-- limit_key: `set_limit` for one key. What it frees is granted at once, up to what a key gives in
-- one transaction. The next sweep gives the rest, and `changed_at` of the group explains that.
create or replace function jobkit.limit_key(
    p_group text, p_key text, p_rule jsonb, p_actor text
) returns boolean
language plpgsql as $$
declare
    v_scope text;
    v_set record;
    v_old jobkit.semaphores;
    v_new jobkit.semaphores;
    v_before jsonb;
    v_after jsonb;
begin
    perform jobkit.decide_lock();
    select l.scope into v_scope from jobkit.limits l
    where l.name = p_group and l.scope in ('group', 'limiter');
    if not found then
        return null;
    end if;
    v_set := jobkit.read_limit(v_scope, p_rule);
    perform jobkit.create_semaphores(array[p_group], array[p_key]);
    v_old := (select s from jobkit.semaphores s
        where s.concurrency_group = p_group and s.concurrency_key = p_key);
    v_new := v_old;
    if p_rule ? 'running' then
        v_new.override_limit := v_set.running;
    end if;
    if p_rule ? 'rate' then
        v_new.override_rate := v_set.every;
        v_new.override_burst := v_set.burst;
    end if;
    -- Crowded makes `acquire` leave the key to `grant_permits`, which looks at the clock. A key
    -- that had a rate has a `tat`: the grant clears what is left of it.
    update jobkit.semaphores s
    set override_limit = v_new.override_limit, override_rate = v_new.override_rate,
        override_burst = v_new.override_burst,
        crowded = s.crowded or p_rule ? 'rate',
        tat = case when p_rule ? 'rate' then coalesce(s.tat, clock_timestamp()) else s.tat end
    where s.concurrency_group = p_group and s.concurrency_key = p_key;
    if jobkit.grant_and_wake(array[p_group], array[p_key], null) >= 1000 then
        update jobkit.limits l set changed_at = clock_timestamp()
        where l.scope = v_scope and l.name = p_group;
    end if;
    v_before := jobkit.said(v_old.override_limit, v_old.override_rate, v_old.override_burst, null);
    v_after := jobkit.said(v_new.override_limit, v_new.override_rate, v_new.override_burst, null);
    if v_before = v_after then
        return false;
    end if;
    perform jobkit.note(p_actor, 'limit', 'key', null, jsonb_build_object(
        'group', p_group, 'before', v_before, 'after', v_after), p_key);
    return true;
end
$$;
