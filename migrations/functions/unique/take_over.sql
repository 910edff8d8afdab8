-- take_over: passes a key whose row holds nothing any more from its old job to a new one; an old
-- job that yields ends as superseded. Returns whether it did. It looks again under the lock of the
-- row: the key may be held again or belong to another job, and if there is a follower, the key is
-- passed to that.
create or replace function jobkit.take_over(
    p_scope text, p_key text, p_old bigint, p_new bigint, p_until timestamptz
) returns boolean
language plpgsql as $$
declare
    v_state text;
    v_old jobkit.jobs;
    v_outcome jobkit.outcome;
    v_follower bigint;
    v_until timestamptz;
begin
    select u.follower_id, u.follower_until into v_follower, v_until from jobkit.unique_keys u
    where u.scope = p_scope and u.key = p_key and u.job_id = p_old for update;
    if not found then
        return false;
    end if;
    select h.state into v_state from jobkit.key_holder(p_scope, p_key) h;
    if v_state not in ('free', 'yields')
        or v_state = 'yields' and not jobkit.take_waiting(p_old, true)
    then
        return false;
    end if;
    select f.id into v_follower from jobkit.jobs f
    where f.id = v_follower and f.unique_scope = p_scope and f.unique_key = p_key
        and f.cancel_requested_at is null for no key update;
    if v_follower is null then
        update jobkit.unique_keys u set job_id = p_new, held_until = p_until, follower_id = null,
            follower_until = null
        where u.scope = p_scope and u.key = p_key;
    else
        delete from jobkit.unique_keys u where u.scope = p_scope and u.key = p_key;
        perform jobkit.follow(
            array[p_scope], array[p_key], array[p_old], array[v_follower], array[v_until]);
    end if;
    if v_state = 'yields' then
        select * into v_old from jobkit.jobs j where j.id = p_old for update;
        perform jobkit.finish(
            v_old, null, v_outcome, p_charged => 0, p_by => coalesce(v_follower, p_new));
    end if;
    return v_follower is null;
end
$$;
