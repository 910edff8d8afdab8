-- resume_key: ends the pause of a key. Returns whether it was paused.
create or replace function jobkit.resume_key(p_group text, p_key text, p_actor text)
returns boolean
language plpgsql as $$
declare
    v_paused boolean;
begin
    perform jobkit.decide_lock();
    -- As if it ended now: the grant clears it.
    with ended as (
        update jobkit.semaphores s set paused_until = clock_timestamp()
        where s.concurrency_group = p_group and s.concurrency_key = p_key
            and s.paused_until > clock_timestamp()
        returning 1
    )
    select count(*) > 0 into v_paused from ended;
    if v_paused then
        perform jobkit.note(p_actor, 'resume', 'key', null,
            jsonb_build_object('group', p_group), p_key);
        perform jobkit.grant_and_wake(array[p_group], array[p_key], null);
    end if;
    return v_paused;
end
$$;
