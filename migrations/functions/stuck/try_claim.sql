-- try_claim: writes what a claim of this ready job (at p_at) writes, then fails with JKTRY, so that
-- everything is undone; or with the error that the claim would raise.
create or replace function jobkit.try_claim(
    p_worker bigint, p_job bigint, p_at tid, p_queues text[], p_kinds text[]
) returns void
language plpgsql as $$
declare
    v_plain boolean;
    v_ids bigint[];
begin
    delete from jobkit.ready r where r.ctid = p_at
    returning r.without_permit and r.concurrency_key is null into v_plain;
    select c.ids into v_ids from jobkit.claim_apart(p_worker, 0, array[p_job], v_plain, p_queues,
        '{}', '{}', p_kinds, p_kinds, '{}') c;
    perform jobkit.claim_within(p_worker, 0, not v_plain, v_ids, p_queues, p_kinds, 8388608);
    raise exception 'jobkit: it could be claimed' using errcode = 'JKTRY';
end
$$;
