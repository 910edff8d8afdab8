-- begin_slots: the claimed jobs take the slots that were reserved for them. The caller has locked
-- their keys. A slot is dated here and not when it was reserved: otherwise jobs that waited for a
-- worker would begin faster than their rate. There is room for each, since no more are reserved
-- than are free. A slot counts as used whatever becomes of its job.
create or replace function jobkit.begin_slots(p_jobs bigint[]) returns void
language plpgsql as $$
declare
    v_key record;
begin
    for v_key in
        with begun as (
            update jobkit.permits p set metered = null
            where p.job_id = any (p_jobs) and p.metered
            returning p.concurrency_group as grp, p.concurrency_key as key, p.job_id
        ), unreserved as (
            delete from jobkit.reserved_slots r using begun b
            where r.concurrency_group = b.grp and r.concurrency_key = b.key
                and r.job_id = b.job_id
        )
        select b.grp, b.key, count(*)::integer as n from begun b group by 1, 2
    loop
        update jobkit.semaphores s set tat = p.tat, paused_until = p.paused_until
        from jobkit.key_limits l
        cross join lateral jobkit.pace(l.concurrency_group, l.concurrency_key, clock_timestamp(),
            l.reserved, v_key.n, l.taken, l.crowded) p
        where l.concurrency_group = v_key.grp and l.concurrency_key = v_key.key and s.ctid = l.at;
    end loop;
end
$$;
