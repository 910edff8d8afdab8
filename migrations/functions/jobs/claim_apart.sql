-- claim_apart: handles what is not on the plain path of a claim: jobs that may have to wait for a
-- slot (`claim_ahead`), jobs that hold or need a permit (`claim_permits`), and charging rates.
--   p_asked  the kinds that the caller asked for; null if nothing is limited or paused
-- Returns the jobs that begin at once and that the caller has to record, those already recorded,
-- and the notes of the claim.
create or replace function jobkit.claim_apart(
    p_worker bigint, p_n bigint, p_ids bigint[], p_plain boolean, p_queues text[],
    p_slots integer[], p_ahead integer[], p_kinds text[],
    p_asked text[], p_held json,
    out ids bigint[], out noted bigint[], out notes json[]
)
language plpgsql as $$
declare
    v_cut boolean;                               -- some picked jobs may not wait
    v_both boolean;                              -- those that begin at once are recorded, too
    v_fits_in interval;
begin
    ids := p_ids;
    if p_ahead <> '{}' and ids <> '{}' then
        select * into ids, noted, v_cut, v_both
        from jobkit.claim_ahead(p_worker, p_n, ids, p_plain, p_queues, p_slots, p_ahead);
        notes := array[json_build_object('ahead', coalesce(noted, '{}'), 'cut', v_cut)];
        if v_both then
            noted := ids || noted;
            ids := '{}';
        end if;
    end if;
    if not p_plain then
        select p.ids, claim_apart.notes || p.notes into ids, notes
        from jobkit.claim_permits(ids, p_queues, p_kinds) p;
    end if;
    if p_asked is not null then
        v_fits_in := jobkit.claim_charge(ids || noted, p_asked, p_queues);
        if p_held is not null then
            notes := notes || p_held
                || json_build_object('fits_in', extract(epoch from v_fits_in));
        end if;
    end if;
end
$$;
