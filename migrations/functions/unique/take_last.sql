-- take_last: the job of a unique key that will run last, for a newer payload: the one that follows,
-- or else the one that waits. p_state is what `key_holder` said: waits, blocked or runs. answer:
--   repeated   job_id follows, and is the caller's to change until this transaction ends
--   existing   … and is of another kind
--   replaced   job_id waited, and nobody follows: `take_waiting` took it
--   parked     … it does not wait: p_job follows from now on. The caller enqueues it, for `parked`
--   null       the key has come to something else meanwhile: look again
-- It waits for whoever has the row of the key: of all that change a key's payload the last one has
-- the last word. A worker that ends the job meanwhile does not see who follows: `follow_left`.
create or replace function jobkit.take_last(
    p_scope text, p_key text, p_holder bigint, p_state text, p_job bigint, p_kind text,
    out job_id bigint, out answer text
)
language plpgsql as $$
declare
    v_follower bigint;
    v_kind text;
begin
    select u.follower_id into v_follower from jobkit.unique_keys u
    where u.scope = p_scope and u.key = p_key and u.job_id = p_holder for update;
    if not found or (select h.state from jobkit.key_holder(p_scope, p_key) h) <> p_state then
        return;
    end if;
    select j.kind into v_kind from jobkit.jobs j
    where j.id = v_follower and j.cancel_requested_at is null for no key update;
    if v_kind is not null then
        job_id := v_follower;
        answer := case when v_kind = p_kind then 'repeated' else 'existing' end;
    elsif p_state = 'waits' then
        job_id := p_holder;
        answer := case when jobkit.take_waiting(p_holder) then 'replaced' end;
    else
        update jobkit.unique_keys u set follower_id = p_job
        where u.scope = p_scope and u.key = p_key;
        job_id := p_job;
        answer := 'parked';
    end if;
end
$$;
