-- save_step: stores what a step of a running job returned, for its next attempts; without a name,
-- the job's checkpoint. If the claim no longer holds the job, it writes nothing and returns false:
-- another attempt may have got further.
-- Locks the row of the claim, so that no outcome and no reaper gets between the check and the
-- commit. The job's row is not locked: once the claim is free, nobody who ends the job waits for
-- us.
create or replace function jobkit.save_step(
    p_worker bigint, p_n bigint, p_job bigint, p_attempt integer, p_name text, p_value text
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform jobkit.require_read_committed();
    perform from jobkit.claims c
    where c.worker_id = p_worker and c.n = p_n and p_job = any (c.job_ids) for no key update;
    if not found then
        return false;
    end if;
    insert into jobkit.steps as k (job_id, name, value, attempt, saved_at)
    values (p_job, p_name, p_value::json, p_attempt, clock_timestamp())
    on conflict (job_id, name) do update set value = excluded.value, attempt = excluded.attempt,
        saved_at = excluded.saved_at;
    return true;
end
$$;
