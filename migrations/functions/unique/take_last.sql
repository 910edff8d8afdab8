-- take_last: of a unique key whose job waits, is blocked or runs (p_state, see `key_holder`), the
-- job that a duplicate changes: the one that follows, since that runs last, or the one that waits.
-- p_changeable: the latter may be changed. answer:
--   repeated   job_id follows, and is the caller's to change until this transaction ends
--   replaced   job_id waited, and has left its place, as `take_waiting` says
--   existing   job_id waits, and is held where it waits; or it follows, and is of another kind
--   parked     p_job follows from now on: the caller enqueues it, for `parked`
--   null       the key has come to something else meanwhile: look again
-- It waits for whoever has the row of the key: of all that change a key's payload the last one has
-- the last word. (Nobody follows a job that does not have its key until it has ended: there only
-- the job is locked, since retries want the row.) A worker that ends the job meanwhile does not see
-- who follows: `follow_left`.
create or replace function jobkit.take_last(
    p_scope text, p_key text, p_holder bigint, p_state text, p_changeable boolean,
    p_on_duplicate text, p_job bigint, p_kind text, out job_id bigint, out answer text
)
language plpgsql as $$
declare
    v_follower bigint;
    v_kind text;
begin
    if p_state <> 'waits' or exists (
        select from jobkit.jobs j where j.id = p_holder and j.unique_while = 'unfinished'
    ) then
        select u.follower_id into v_follower from jobkit.unique_keys u
        where u.scope = p_scope and u.key = p_key and u.job_id = p_holder for update;
        if not found or (select h.state from jobkit.key_holder(p_scope, p_key) h) <> p_state then
            return;
        end if;
        -- One of another kind says nothing of a job that can be changed itself.
        select j.kind into v_kind from jobkit.jobs j
        where j.id = v_follower and j.cancel_requested_at is null
            and p_on_duplicate <> 'debounce' and (j.kind = p_kind or p_state <> 'waits')
        for no key update;
    end if;
    job_id := case when v_kind is null then p_holder else v_follower end;
    if v_kind = p_kind then
        answer := 'repeated';
    elsif p_state = 'waits' and p_changeable then
        answer := case when jobkit.take_waiting(job_id) then 'replaced' end;
    elsif p_state = 'waits' then
        answer := case when jobkit.hold_waiting(job_id, true) then 'existing' end;
    elsif v_kind is not null then
        answer := 'existing';
    else
        update jobkit.unique_keys u set follower_id = p_job
        where u.scope = p_scope and u.key = p_key;
        job_id := p_job;
        answer := 'parked';
    end if;
end
$$;
