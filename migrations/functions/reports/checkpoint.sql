-- checkpoint: keeps where a running job is, for its next attempt. Returns false, having written
-- nothing, where the claim does not hold the job any more: another attempt may be further by now.
-- The claim's row is locked, so that no outcome and no reaper comes between the look and the
-- commit. The job's is not: nobody who ends it waits for us once the claim is free.
create or replace function jobkit.checkpoint(
    p_worker bigint, p_n bigint, p_job bigint, p_attempt integer, p_value text
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
    insert into jobkit.checkpoints as k (job_id, value, attempt, saved_at)
    values (p_job, p_value::json, p_attempt, clock_timestamp())
    on conflict (job_id) do update set value = excluded.value, attempt = excluded.attempt,
        saved_at = excluded.saved_at;
    return true;
end
$$;
