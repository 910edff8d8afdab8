-- claim_apart: what a claim does apart from the plain path: with jobs that may have to wait for a
-- slot (`claim_ahead`), with those that hold or need a permit (`claim_permits`), and what counts
-- for a rate of the kinds that were asked for (p_asked; null where nothing is braked). Returns the
-- jobs that the caller has to note, which begin at once, those that are noted already, and what the
-- claim answers.
create or replace function jobkit.claim_apart(
    p_worker bigint, p_n bigint, p_ids bigint[], p_plain boolean, p_queues text[],
    p_slots integer[], p_ahead integer[], p_kinds text[],
    p_asked text[], p_held jobkit.claimed[],
    out ids bigint[], out noted bigint[], out answers jobkit.claimed[]
)
language plpgsql as $$
declare
    v_row jobkit.claimed;
    v_both boolean;                              -- those that begin at once are noted, too
    v_fits_in interval;
begin
    ids := p_ids;
    if p_ahead <> '{}' and ids <> '{}' then
        select * into ids, noted, v_row.gone, v_both
        from jobkit.claim_ahead(p_worker, p_n, ids, p_plain, p_queues, p_slots, p_ahead);
        v_row.ahead := coalesce(noted, '{}');
        if v_both then
            noted := ids || noted;
            ids := '{}';
        end if;
    end if;
    if not p_plain then
        select * into ids, answers from jobkit.claim_permits(ids, p_queues, p_kinds);
    end if;
    if v_row.ahead is not null then
        answers := answers || v_row;
    end if;
    if p_asked is not null then
        v_fits_in := jobkit.claim_charge(ids || noted, p_asked, p_queues);
        foreach v_row in array coalesce(p_held, '{}') loop
            v_row.waited := v_fits_in;
            answers := answers || v_row;
        end loop;
    end if;
end
$$;
