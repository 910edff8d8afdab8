-- retake_key: takes a unique key again for a job that waits again, or for the replay of a job.
-- Returns the job that holds the key instead, or null.
-- Waits at most a millisecond for a session that is taking the key: its outcome is unknown until it
-- ends. Then it fails with 55P03, to be tried later, as does a retry whose key a cancelled job
-- still holds.
create or replace function jobkit.retake_key(p_scope text, p_key text, p_job bigint) returns bigint
language plpgsql
set lock_timeout = '1ms'
as $$
declare
    v_holder record;
    v_follower bigint;
begin
    -- The update locks the row: a session that wants to take it over waits, and looks again.
    insert into jobkit.unique_keys as u (scope, key, job_id) values (p_scope, p_key, p_job)
    on conflict (scope, key) do update set job_id = u.job_id;
    select * into v_holder from jobkit.key_holder(p_scope, p_key);
    if v_holder.state in ('free', 'ends') then
        -- A follower has the key already: `follow_left` will handle it.
        select f.id into v_follower from jobkit.unique_keys u
        join jobkit.jobs f on f.id = u.follower_id and f.unique_scope = u.scope
            and f.unique_key = u.key and f.cancel_requested_at is null
        where u.scope = p_scope and u.key = p_key;
        if found then
            return v_follower;
        end if;
    end if;
    if v_holder.job_id <> p_job then
        if v_holder.state = 'ends' and exists (select from jobkit.jobs j where j.id = p_job) then
            -- Its holder does nothing any more. (A replay is refused instead.)
            raise lock_not_available using message = 'jobkit: a job that ends has the key';
        elsif v_holder.state <> 'free' then
            return v_holder.job_id;
        end if;
        update jobkit.unique_keys u set job_id = p_job, held_until = null, follower_id = null,
            follower_until = null
        where u.scope = p_scope and u.key = p_key;
    end if;
    return null;
end
$$;
