-- claim_apart: what a claim does apart from the plain path: with jobs that may have to wait for a
-- slot (`claim_ahead`), and with those that hold or need a permit (`claim_permits`). Returns the
-- jobs that begin at once, those that wait, and what the claim answers about both.
create or replace function jobkit.claim_apart(
    p_worker bigint, p_n bigint, p_ids bigint[], p_plain boolean, p_queues text[],
    p_slots integer[], p_ahead integer[], p_kinds text[],
    out ids bigint[], out ahead bigint[], out answers jobkit.claimed[]
)
language plpgsql as $$
declare
    v_row jobkit.claimed;
begin
    ids := p_ids;
    if p_ahead <> '{}' and ids <> '{}' then
        select * into ids, ahead, v_row.gone
        from jobkit.claim_ahead(p_worker, p_n + 1, ids, p_queues, p_slots, p_ahead);
        v_row.ahead := coalesce(ahead, '{}');
    end if;
    if not p_plain then
        select * into ids, answers from jobkit.claim_permits(ids, p_queues, p_kinds);
    end if;
    if v_row.ahead is not null then
        answers := answers || v_row;
    end if;
end
$$;
