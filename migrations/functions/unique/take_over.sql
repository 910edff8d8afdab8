-- take_over: a key whose row holds nothing any more passes from its old job to a new one; one that
-- yields ends as superseded. Whether it came to that: under the lock of the row it may hold again,
-- or belong to somebody else.
create or replace function jobkit.take_over(
    p_scope text, p_key text, p_old bigint, p_new bigint, p_until timestamptz
) returns boolean
language plpgsql as $$
declare
    v_state text;
    v_old jobkit.jobs;
begin
    perform from jobkit.unique_keys u
    where u.scope = p_scope and u.key = p_key and u.job_id = p_old for update;
    if not found then
        return false;
    end if;
    select h.state into v_state from jobkit.key_holder(p_scope, p_key) h;
    if v_state not in ('free', 'yields')
        or v_state = 'yields' and not jobkit.take_waiting(p_old)
    then
        return false;
    end if;
    update jobkit.unique_keys u set job_id = p_new, held_until = p_until
    where u.scope = p_scope and u.key = p_key;
    if v_state = 'yields' then
        select * into v_old from jobkit.jobs j where j.id = p_old for update;
        perform jobkit.supersede(v_old, p_new, v_old.attempt, null, null);
    end if;
    return true;
end
$$;
