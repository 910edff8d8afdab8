-- claim_charge: charges the jobs of a claim to the rates of their queues and kinds. Returns how
-- soon a rate allows the next job, if none is allowed now.
create or replace function jobkit.claim_charge(
    p_ids bigint[], p_kinds text[], p_queues text[]
) returns interval
language plpgsql as $$
declare
    v_turn record;
    v_number bigint;
    v_fits double precision;
begin
    for v_turn in
        select t.* from jobkit.turn_limits t
        where t.every is not null and t.name = any (case t.scope when 'queue' then p_queues
            else array(select jobkit.unversioned(k.kind) from unnest(p_kinds) as k (kind)) end)
    loop
        select count(*) into v_number from jobkit.jobs j
        where j.id = any (p_ids)
            and case v_turn.scope when 'queue' then j.queue else j.kind end = v_turn.name;
        if v_number > 0 then
            update jobkit.turns t
            set tat = greatest(t.tat, clock_timestamp()) + v_turn.every * v_number
            where t.scope = v_turn.scope and t.name = v_turn.name
            returning t.tat into v_turn.tat;
        end if;
        v_fits := least(v_fits, (
            select nullif(r.fits_in, 0) from jobkit.turn_room(
                v_turn.scope, v_turn.name, null, v_turn.every, v_turn.burst, v_turn.tat) r
        ));
    end loop;
    return make_interval(secs => v_fits);
end
$$;
