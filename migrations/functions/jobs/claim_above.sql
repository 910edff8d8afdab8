-- claim_above: the scan of a claim that starts at low-water marks (see `claim`). Returns the
-- positions of the rows, locked.
-- It fills the slots in this order: lanes before those with marks, then each lane with a mark,
-- above it, then the lanes behind. Rows that another session is taking (xmax) are skipped, since
-- the attempt to lock one costs more than claiming a row. If that session gives them up, a scan
-- from the start finds them.
create or replace function jobkit.claim_above(
    p_kinds text[], p_queues text[], p_slots integer[], p_marks bigint[],
    p_first integer[], p_last integer[]
) returns tid[]
language plpgsql as $$
begin
    return array(
        select n.at
        from unnest(p_queues, p_slots, p_first, p_last)
            with ordinality as q (name, slots, first, last, number)
        cross join lateral (
            select n.at
            from generate_series(q.first - 1, q.last + 1) as l (lane)
            cross join lateral (
                select n.at from (
                    select n.ctid as at from jobkit.ready n
                    where l.lane between q.first and q.last
                        and n.queue = q.name and n.kind = any (p_kinds)
                        and n.priority = l.lane / 2 - 3
                        and n.without_permit = (l.lane % 2 = 1)
                        and n.job_id > p_marks[(q.number - 1) * 14 + l.lane + 1]
                        and n.xmax = '0'
                    order by n.job_id limit q.slots for update skip locked
                ) n
                union all
                select m.at from (
                    select m.ctid as at from jobkit.ready m
                    where l.lane not between q.first and q.last
                        and m.queue = q.name and m.kind = any (p_kinds)
                        and m.priority >= case when l.lane < q.first then -3
                            else q.last / 2 - 2 end
                        and m.priority <= case when l.lane > q.last then 3
                            else q.first / 2 - 4 end
                        and m.xmax = '0'
                    order by m.priority, m.without_permit, m.job_id
                    limit q.slots for update of m skip locked
                ) m
            ) n
            limit q.slots
        ) n
    );
end
$$;
