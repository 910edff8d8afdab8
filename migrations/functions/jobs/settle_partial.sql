-- settle_partial: the claims of these jobs, where it is not one claim as a whole: those that list
-- no other job go, the others keep what is left. Returns the jobs that the claims p_n[i] hold, and
-- whether permits and replays may be among them.
-- Each claim is looked up by its key: a scan of them all would walk the dead entries that pile up
-- under a pinned horizon. What FOR UPDATE returns is the row as it is now that we hold it.
-- A list that is the same, in the order of ids, is compared as a whole (`whole`): it need not be
-- looked through job by job.
create or replace function jobkit.settle_partial(
    p_worker bigint, p_n bigint[], p_job bigint[],
    out held bigint[], out keyed boolean, out replaying boolean
)
language plpgsql as $$
declare
    v_whole tid[];                               -- claims of which every job is settled now
    v_part tid[];                                -- … and of which others are left
begin
    with locked as materialized (
        select g.n, g.jobs = c.job_ids as whole, c.*
        from (
            select u.n, array_agg(u.job order by u.job) as jobs
            from unnest(p_n, p_job) as u (n, job) group by 1 order by 1
        ) g
        cross join lateral (
            select c.ctid as at, c.job_ids, c.keyed, c.replays from jobkit.claims c
            where c.worker_id = p_worker and c.n = g.n for update
        ) c
    ), settled as materialized (
        select o.n, o.job from unnest(p_n, p_job) as o (n, job)
        where exists (select from locked l where not l.whole)
        intersect select l.n, unnest(l.job_ids) from locked l where not l.whole
    ), counted as (
        select s.n, count(*) as jobs from settled s group by s.n
    )
    select array(
            select unnest(l.job_ids) from locked l where l.whole
            union all select s.job from settled s),
        coalesce(bool_or(l.keyed), false), coalesce(bool_or(l.replays), false),
        array_agg(l.at) filter (where l.whole or c.jobs = cardinality(l.job_ids)),
        array_agg(l.at) filter (where c.jobs < cardinality(l.job_ids))
    into held, keyed, replaying, v_whole, v_part
    from locked l left join counted c on c.n = l.n;
    if v_whole is not null then
        delete from jobkit.claims c where c.ctid = any (v_whole);
    end if;
    if v_part is not null then
        update jobkit.claims c
        set job_ids = array(
            select unnest(c.job_ids)
            except select o.job from unnest(p_n, p_job) as o (n, job) where o.n = c.n order by 1
        )
        where c.ctid = any (v_part);
    end if;
end
$$;
