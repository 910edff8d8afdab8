-- unclaim: removes jobs from a claim whose row the caller holds: p_jobs, or all if that is null,
-- except stuck ones. Returns them.
create or replace function jobkit.unclaim(p_claim jobkit.claims, p_jobs bigint[]) returns bigint[]
language plpgsql as $$
declare
    v_stuck constant bigint[] := jobkit.stuck();
    v_taken constant bigint[] := array(
        select l.id from unnest(p_claim.job_ids) as l (id)
        where l.id <> all (v_stuck) and (p_jobs is null or l.id = any (p_jobs))
    );
begin
    if cardinality(v_taken) = cardinality(p_claim.job_ids) then
        delete from jobkit.claims c where c.worker_id = p_claim.worker_id and c.n = p_claim.n;
    elsif v_taken <> '{}' then
        update jobkit.claims c
        set job_ids = array(select unnest(p_claim.job_ids) except select unnest(v_taken))
        where c.worker_id = p_claim.worker_id and c.n = p_claim.n;
    end if;
    delete from jobkit.stuck_jobs s where s.job_id = any (v_taken);
    return v_taken;
end
$$;
