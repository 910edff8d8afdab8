-- take_key: takes a unique key for a job that is about to be enqueued.
--   p_job, p_kind, p_until  the new job, and how long it keeps the key at least
--   p_on_duplicate          as for `enqueue_unique`
--   p_wait                  whether to wait for open transactions that hold the key
-- Returns job_id, and answer:
--   enqueued          p_job got the key
--   existing          this job has the key; if it waits and is not late, it is held until this
--                     transaction ends, so that it runs after what the caller writes is visible
--   replaced          this job was removed from where it waited: the caller changes it and puts it
--                     back
--   parked, repeated  as for `take_last`: it runs after a job that runs, ends or is late
--   null              it would have to wait, but p_wait is false
-- Who waits for whom, and why no worker waits for this: docs/decisions/0016-unique-jobs.md.
create or replace function jobkit.take_key(
    p_scope text, p_key text, p_job bigint, p_kind text, p_until timestamptz,
    p_on_duplicate text, p_wait boolean, out job_id bigint, out answer text
)
language plpgsql as $$
declare
    v_holder record;
    v_change boolean;                            -- its payload or time may be changed
    v_late boolean;                              -- it has waited too long to be held
begin
    loop
        if p_wait then
            insert into jobkit.unique_keys (scope, key, job_id, held_until)
            values (p_scope, p_key, p_job, p_until) on conflict do nothing;
            if found then
                job_id := p_job;
                answer := 'enqueued';
                return;
            end if;
        end if;
        select * into v_holder from jobkit.key_holder(p_scope, p_key);
        job_id := v_holder.job_id;
        v_change := v_holder.state = 'waits' and v_holder.changeable and v_holder.kind = p_kind;
        v_late := v_holder.state = 'waits' and v_holder.late;
        if v_late and v_holder.kept and (p_on_duplicate = 'skip' or not v_change) then
            answer := 'existing';
        elsif v_late or v_holder.state = 'ends' or v_change and p_on_duplicate <> 'skip'
            or v_holder.state in ('waits', 'blocked', 'runs') and p_on_duplicate = 'run_again'
        then
            if p_wait then
                select l.job_id, l.answer into job_id, answer from jobkit.take_last(p_scope, p_key,
                    job_id, v_holder.state, v_change, v_late, p_on_duplicate, p_job, p_kind,
                    p_until) l;
            end if;
        elsif v_holder.state in ('blocked', 'runs', 'kept') then
            answer := 'existing';
        elsif v_holder.state = 'waits' then
            answer := case when jobkit.hold_waiting(job_id, p_wait) then 'existing' end;
        elsif p_wait and jobkit.take_over(p_scope, p_key, job_id, p_job, p_until) then
            job_id := p_job;
            answer := 'enqueued';
        end if;
        exit when answer is not null or not p_wait;
    end loop;
end
$$;
