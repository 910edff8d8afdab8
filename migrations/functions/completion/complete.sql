-- complete: records the success of a running job in the transaction of its handler, which may stay
-- open for long. Returns `finish`. Returns `lost` (the claim no longer holds the job) or `cancel`
-- (it was cancelled) without writing anything.
-- Locks nothing that other jobs of the key, queue or claim wait for: the claim is the job's own
-- (`part`), and its permit stays. With a permit, the claim keeps listing the job after it is gone,
-- and the settle or reap of that claim frees the permit.
create or replace function jobkit.complete(
    p_worker bigint, p_n bigint, p_job bigint, p_keep interval default null,
    p_took interval default null, p_reason text default null, p_result text default null
) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set lock_timeout = '1s'
as $$
declare
    v_job jobkit.jobs;
    v_outcome jobkit.outcome;
begin
    perform jobkit.require_read_committed();
    perform from jobkit.claims c
    where c.worker_id = p_worker and c.n = p_n and p_job = any (c.job_ids) for update;
    if not found then
        return 'lost';
    end if;
    select * into v_job from jobkit.jobs j where j.id = p_job for update;
    if not found then
        return 'lost';
    end if;
    if v_job.cancel_requested_at is not null then
        return 'cancel';
    end if;
    if not exists (select from jobkit.permits p where p.job_id = p_job) then
        delete from jobkit.claims c
        where c.worker_id = p_worker and c.n = p_n and c.job_ids = array[p_job];
        update jobkit.claims c set job_ids = array_remove(c.job_ids, p_job)
        where c.worker_id = p_worker and c.n = p_n;
    end if;
    v_outcome.outcome := 'finish';
    v_outcome.reason := p_reason;
    v_outcome.keep := p_keep;
    v_outcome.took := p_took;
    v_outcome.result := p_result;
    perform jobkit.finish(v_job, p_worker, v_outcome);
    return 'finish';
end
$$;
