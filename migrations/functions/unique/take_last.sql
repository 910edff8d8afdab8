-- take_last: handles a duplicate with the last job of a unique key: its follower, or the job that
-- waits.
--   p_holder, p_state                       the job of the key, and its state (`key_holder`)
--   p_changeable, p_late                    whether it may be changed, and whether it is late
--   p_on_duplicate, p_job, p_kind, p_until  as for `take_key`
-- Returns job_id, and answer:
--   repeated  it follows, and the caller may change it until this transaction ends
--   replaced  it was removed from where it waited (`take_waiting`)
--   existing  it waits, and is held; or it follows, and begins only after this transaction; or it
--             is late, and none may follow it (`unique_for`)
--   parked    p_job follows from now on: the caller enqueues it, for `parked`
--   null      the key has changed meanwhile: look again
-- Which rows it locks, and why: docs/decisions/0016-unique-jobs.md (Why does a change lock the row
-- of the key first?).
create or replace function jobkit.take_last(
    p_scope text, p_key text, p_holder bigint, p_state text, p_changeable boolean, p_late boolean,
    p_on_duplicate text, p_job bigint, p_kind text, p_until timestamptz, out job_id bigint,
    out answer text
)
language plpgsql as $$
declare
    v_holder record;
    v_follower bigint;
    v_kind text;
begin
    if p_on_duplicate = 'skip' then
        -- A follower does not begin while its key is locked. Callers that skip share the lock.
        select u.follower_id, 'existing' into job_id, answer from jobkit.unique_keys u
        where u.scope = p_scope and u.key = p_key and u.job_id = p_holder and exists (
            select from jobkit.jobs f where f.id = u.follower_id and f.cancel_requested_at is null
                and f.unique_scope = p_scope and f.unique_key = p_key
        ) for share of u;
        if found then
            return;
        end if;
    end if;
    if p_state <> 'waits' or p_late or exists (
        select from jobkit.jobs j where j.id = p_holder and j.unique_while = 'unfinished'
    ) then
        select u.follower_id into v_follower from jobkit.unique_keys u
        where u.scope = p_scope and u.key = p_key and u.job_id = p_holder for update;
        if not found then
            return;
        end if;
        select * into v_holder from jobkit.key_holder(p_scope, p_key);
        if v_holder.state <> p_state or p_late and not v_holder.late then
            return;
        end if;
        -- A follower of another kind does not matter if the waiting job itself can be changed.
        select j.kind into v_kind from jobkit.jobs j
        where j.id = v_follower and j.unique_scope = p_scope and j.unique_key = p_key
            and j.cancel_requested_at is null
            and (p_late or p_on_duplicate <> 'debounce' or p_state = 'ends')
            and (p_late or p_state <> 'waits' or j.kind = p_kind)
        for no key update;
    end if;
    job_id := case when v_kind is null then p_holder else v_follower end;
    if v_kind = p_kind and p_on_duplicate in ('replace', 'run_again') then
        answer := 'repeated';
    elsif v_kind is not null then
        answer := 'existing';
    elsif p_state = 'waits' and not p_late then
        answer := case when p_changeable
            then case when jobkit.take_waiting(job_id, true) then 'replaced' end
            else case when jobkit.hold_waiting(job_id, true) then 'existing' end end;
    elsif p_changeable and p_on_duplicate <> 'skip' and not exists (
            select from jobkit.jobs j
            where j.id = p_holder
                and j.run_at between clock_timestamp() - interval '1 second' and clock_timestamp()
        ) and jobkit.take_waiting(p_holder, false)
    then
        answer := 'replaced';
    elsif p_state = 'waits' and v_holder.kept then
        answer := 'existing';
    else
        update jobkit.unique_keys u set follower_id = p_job, follower_until = p_until,
            held_until = case when p_state <> 'ends' then u.held_until end
        where u.scope = p_scope and u.key = p_key;
        job_id := p_job;
        answer := 'parked';
    end if;
end
$$;
