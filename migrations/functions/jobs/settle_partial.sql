-- settle_partial: removes settled jobs from their claims, unless they are exactly one claim. A
-- claim without other jobs is deleted. Returns the jobs that the claims p.n[i] hold, and whether
-- there may be permits and replays among them.
-- Locks the claims, each found by its key: a scan would walk the dead entries that pile up while a
-- transaction pins the horizon. FOR UPDATE returns each row as it is once locked.
-- Equal lists, in the order of ids, are compared as a whole. Otherwise each job is looked up in one
-- hash table; without `is true`, the first IN would become a join, with a table for each claim.
create or replace function jobkit.settle_partial(
    p_worker bigint, p jobkit.outcomes,
    out held bigint[], out keyed boolean, out replaying boolean
)
language plpgsql as $$
declare
    v_whole tid[];                               -- claims that are settled entirely
    v_part tid[];                                -- … and claims that keep other jobs
begin
    with locked as materialized (
        select g.n, g.jobs, c.*
        from (
            select u.n, array_agg(u.job order by u.job) as jobs
            from unnest(p.n, p.job) as u (n, job) group by 1 order by 1
        ) g
        cross join lateral (
            select c.ctid as at, c.job_ids, c.keyed, c.replays from jobkit.claims c
            where c.worker_id = p_worker and c.n = g.n for update
        ) c
    ), settled as (
        select l.*, case when l.jobs = l.job_ids then l.jobs else array(
            select j from unnest(l.job_ids) as j
            where ((l.n, j) in (select * from unnest(p.n, p.job))) is true
        ) end as settled
        from locked l
    )
    select array(select unnest(s.settled) from settled s),
        coalesce(bool_or(s.keyed), false), coalesce(bool_or(s.replays), false),
        array_agg(s.at) filter (where cardinality(s.settled) = cardinality(s.job_ids)),
        array_agg(s.at) filter (
            where cardinality(s.settled) between 1 and cardinality(s.job_ids) - 1)
    into held, keyed, replaying, v_whole, v_part
    from settled s;
    if v_whole is not null then
        delete from jobkit.claims c where c.ctid = any (v_whole);
    end if;
    if v_part is not null then
        update jobkit.claims c
        set job_ids = array(
            select j from unnest(c.job_ids) as j
            where ((c.n, j) in (select * from unnest(p.n, p.job))) is not true
        )
        where c.ctid = any (v_part);
    end if;
end
$$;
