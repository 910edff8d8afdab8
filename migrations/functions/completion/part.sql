-- part: moves a running job into a claim of its own, p_own, so that a transaction of its handler
-- holds up no other job of the claim. A claim that lists no other job stays as it is.
-- Returns the number of the job's claim. That is p_own also if an earlier call moved the job and
-- its answer was lost. Null: neither claim holds the job. Locks the row of the claim.
create or replace function jobkit.part(p_worker bigint, p_n bigint, p_own bigint, p_job bigint)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set lock_timeout = '1s'
as $$
declare
    v_claim jobkit.claims;
begin
    perform jobkit.require_read_committed();
    select * into v_claim from jobkit.claims c
    where c.worker_id = p_worker and c.n = p_n and p_job = any (c.job_ids) for update;
    if not found then
        return (
            select c.n from jobkit.claims c
            where c.worker_id = p_worker and c.n = p_own and p_job = any (c.job_ids)
        );
    end if;
    if cardinality(v_claim.job_ids) = 1 then
        return p_n;
    end if;
    update jobkit.claims c set job_ids = array_remove(c.job_ids, p_job)
    where c.worker_id = p_worker and c.n = p_n;
    -- The job has begun, even if no heartbeat has said so yet: it is not claimed ahead any more.
    insert into jobkit.claims (worker_id, n, job_ids, claimed_at, keyed, replays)
    values (p_worker, p_own, array[p_job], v_claim.claimed_at,
        v_claim.keyed and exists (select from jobkit.permits p where p.job_id = p_job),
        v_claim.replays and exists (
            select from jobkit.jobs j where j.id = p_job and j.dead_letter_id is not null
        ));
    return p_own;
end
$$;
