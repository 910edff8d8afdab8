-- block_backlog: blocks more ready jobs of an exhausted key, so that its backlog is not claimed row
-- by row. Never blocks a job that holds a permit.
create or replace function jobkit.block_backlog(p_denied bigint[], p_queues text[], p_kinds text[])
returns void
language plpgsql as $$
declare
    v_parked bigint[];
begin
    with exhausted as materialized (
        select j.concurrency_group as grp, j.concurrency_key as key, max(j.id) as after_id,
            greatest(1000 / count(*) over (), 1) as share
        from jobkit.jobs j where j.id = any (p_denied)
        group by 1, 2
    ), taken as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select m.at from exhausted e
            cross join lateral (
                -- Only if the key is exhausted: a job that nobody serves gets no permit either.
                select from jobkit.key_limits l
                where l.concurrency_group = e.grp and l.concurrency_key = e.key
                    and (l.taken >= l.effective_limit or l.timed and jobkit.paced(
                        l.rate, l.paused_until, l.due_at, l.reserved)) offset 0
            ) s
            cross join lateral (
                select q.ctid as at from jobkit.ready q
                where q.concurrency_group = e.grp and q.concurrency_key = e.key
                    and q.without_permit and q.job_id > e.after_id
                    and q.queue = any (p_queues) and q.kind = any (p_kinds)
                order by q.job_id limit e.share for update skip locked
            ) m
        ))
        returning r.job_id
    )
    select coalesce(array_agg(t.job_id), '{}') into v_parked from taken t;
    perform jobkit.block(v_parked);
end
$$;
