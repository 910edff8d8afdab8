-- take_follower: where a job of a unique key runs or is blocked, the one that runs again after it.
-- answer:
--   parked     p_job follows from now on: the caller enqueues it, for `parked`
--   repeated   job_id follows already, and is the caller's to change until this transaction ends
--   existing   … and is of another kind
--   null       it has come to something else meanwhile: look again
-- It waits for whoever has the row of the key. A worker that ends the job meanwhile does not see
-- who follows: `follow_left`.
create or replace function jobkit.take_follower(
    p_scope text, p_key text, p_holder bigint, p_job bigint, p_kind text,
    out job_id bigint, out answer text
)
language plpgsql as $$
declare
    v_follower bigint;
    v_kind text;
begin
    select u.follower_id into v_follower from jobkit.unique_keys u
    where u.scope = p_scope and u.key = p_key and u.job_id = p_holder for update;
    if not found or (select h.state from jobkit.key_holder(p_scope, p_key) h)
        not in ('runs', 'blocked')
    then
        return;
    end if;
    select j.kind into v_kind from jobkit.jobs j
    where j.id = v_follower and j.cancel_requested_at is null for no key update;
    job_id := v_follower;
    if v_kind is null then
        update jobkit.unique_keys u set follower_id = p_job
        where u.scope = p_scope and u.key = p_key;
        job_id := p_job;
        answer := 'parked';
    else
        answer := case when v_kind = p_kind then 'repeated' else 'existing' end;
    end if;
end
$$;
