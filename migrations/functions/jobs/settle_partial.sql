-- settle_partial: the claims of these jobs, where it is not one claim as a whole: those that list
-- no other job go, the others keep what is left. Returns the jobs that the claims p_n[i] hold, and
-- whether permits and replays may be among them.
-- Claim by claim, by its key: a scan of them all would walk the dead entries that pile up under a
-- pinned horizon. What FOR UPDATE returns is the row as it is now that we hold it.
create or replace function jobkit.settle_partial(
    p_worker bigint, p_n bigint[], p_job bigint[],
    out held bigint[], out keyed boolean, out replaying boolean
)
language plpgsql as $$
declare
    v_n bigint;
    v_claim record;
    v_listed bigint[];                           -- what a claim lists
    v_settled bigint[];                          -- … of that, what is settled now
begin
    held := '{}';
    keyed := false;
    replaying := false;
    for v_n in select distinct u.n from unnest(p_n) as u (n) order by 1 loop
        select c.job_ids, c.keyed, c.replays into v_claim from jobkit.claims c
        where c.worker_id = p_worker and c.n = v_n for update;
        continue when not found;
        v_listed := v_claim.job_ids;
        keyed := keyed or v_claim.keyed;
        replaying := replaying or v_claim.replays;
        v_settled := array(
            select o.job from unnest(p_n, p_job) as o (n, job) where o.n = v_n
            intersect select unnest(v_listed)
        );
        if cardinality(v_settled) = cardinality(v_listed) then
            delete from jobkit.claims c where c.worker_id = p_worker and c.n = v_n;
        elsif v_settled <> '{}' then
            update jobkit.claims c
            set job_ids = array(select unnest(v_listed) except select unnest(v_settled))
            where c.worker_id = p_worker and c.n = v_n;
        end if;
        held := held || v_settled;
    end loop;
end
$$;
