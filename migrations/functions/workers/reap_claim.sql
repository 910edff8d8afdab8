-- reap_claim: takes back an orphaned claim, and charges each of its jobs a crashed attempt. After
-- the first crash a job runs again at once, after further crashes in a row with a delay. Jobs
-- claimed ahead are not charged, since it is unknown whether they had begun. But it counts as a
-- crash, since one of them may have killed the worker: none of them is claimed ahead next time.
--   p_jobs  only these; the others, and jobs that are stuck, stay in the claim
-- Returns how many jobs it took back; 0 if the claim is gone, locked or not orphaned.
create or replace function jobkit.reap_claim(
    p_worker bigint, p_n bigint, p_jobs bigint[] default null
)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_claim jobkit.claims;
    v_jobs bigint[];
    v_count integer;
begin
    perform jobkit.decide_lock();
    select * into v_claim from jobkit.claims c
    where c.worker_id = p_worker and c.n = p_n for update skip locked;
    if not found or exists (select from jobkit.workers w where w.id = p_worker) then
        return 0;
    end if;
    v_jobs := jobkit.unclaim(v_claim, p_jobs);
    if v_claim.ahead then
        v_count := jobkit.give_back(p_worker, v_jobs, '{}', null);
        update jobkit.jobs j set crashes = j.crashes + 1 where j.id = any (v_jobs);
        return v_count;
    end if;
    return jobkit.give_back(p_worker, v_jobs, v_jobs,
        format('the worker died: no heartbeat of worker %s', to_hex(p_worker)));
end
$$;
