-- release_lost: gives back claims whose reply never reached their worker: numbered up to
-- p_concluded, but not among p_held. They are not charged, except jobs that were claimed alone.
--   p_suspect  claims of such calls: the payload may be what breaks the connection
--   p_jobs     only these; the others, and jobs that are stuck, stay where they are
create or replace function jobkit.release_lost(
    p_worker bigint, p_concluded bigint, p_held bigint[], p_suspect bigint[],
    p_jobs bigint[] default null
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_claim jobkit.claims;
    v_taken bigint[];
    v_ids bigint[] := '{}';
    v_suspects bigint[] := '{}';
begin
    perform jobkit.decide_lock();
    for v_claim in
        select * from jobkit.claims c
        where c.worker_id = p_worker and c.n <= p_concluded and c.n <> all (p_held)
        order by c.n for update skip locked
    loop
        v_taken := jobkit.unclaim(v_claim, p_jobs);
        v_ids := v_ids || v_taken;
        if v_claim.n = any (p_suspect) then
            v_suspects := v_suspects || v_taken;
        end if;
    end loop;
    return jobkit.give_back(p_worker, v_ids, v_suspects,
        'claimed alone, and the reply with its payload was lost');
end
$$;
