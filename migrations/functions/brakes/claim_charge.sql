-- claim_charge: charges the jobs of a claim to the rates of their queues and kinds. Returns how
-- soon a rate allows the next job, if none is allowed now.
create or replace function jobkit.claim_charge(
    p_ids bigint[], p_kinds text[], p_queues text[]
) returns interval
language plpgsql as $$
declare
    v_brake jobkit.brakes;
    v_number bigint;
    v_fits double precision;
begin
    for v_brake in
        select b.* from jobkit.brakes b
        where b.rate_count is not null and b.name = any (case b.scope when 'queue' then p_queues
            else array(select jobkit.unversioned(k.kind) from unnest(p_kinds) as k (kind)) end)
    loop
        select count(*) into v_number from jobkit.jobs j
        where j.id = any (p_ids)
            and case v_brake.scope when 'queue' then j.queue else j.kind end = v_brake.name;
        if v_number > 0 then
            update jobkit.brakes b
            set next_at = greatest(b.next_at, clock_timestamp())
                + b.rate_interval * (v_number / b.rate_count::double precision)
            where b.scope = v_brake.scope and b.name = v_brake.name
            returning b.next_at into v_brake.next_at;
        end if;
        v_brake.running_limit := null;
        v_fits := least(v_fits, (
            select nullif(r.fits_in, 0) from jobkit.brake_room(v_brake) r
        ));
    end loop;
    return make_interval(secs => v_fits);
end
$$;
