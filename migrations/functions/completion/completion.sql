-- completion: what became of a job that its handler completed (`complete`), or began to complete,
-- under one of these claims of a worker:
--   `open`    the handler's transaction is open, or another session holds the claim
--   `held`    claim `n` holds the job: nothing was completed
--   `finish`  the job was completed; `n` is the claim that holds its permit, if any
--   `lost`    the worker was reaped, and its claims with it
-- Waits for nobody. It looks for the claim first and then for the worker: while a worker exists, no
-- other session takes its claims.
create or replace function jobkit.completion(
    p_worker bigint, p_n bigint[], p_job bigint, out state text, out n bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform jobkit.require_read_committed();
    select c.n into n from jobkit.claims c
    where c.worker_id = p_worker and c.n = any (p_n) and p_job = any (c.job_ids)
    for key share skip locked;
    if found then
        state := case when exists (select from jobkit.jobs j where j.id = p_job) then 'held'
            else 'finish' end;
    elsif exists (
        select from jobkit.claims c
        where c.worker_id = p_worker and c.n = any (p_n) and p_job = any (c.job_ids)
    ) then
        state := 'open';
    elsif exists (select from jobkit.workers w where w.id = p_worker) then
        state := 'finish';
    else
        state := 'lost';
    end if;
end
$$;
