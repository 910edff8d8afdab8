-- coalesce_take: removes jobs without a permit from where they wait, unless another session has
-- them locked. Returns the jobs it removed.
create or replace function jobkit.coalesce_take(p_jobs bigint[]) returns bigint[]
language sql as $$
    with asked as materialized (
        select j.id, j.queue, j.priority, j.run_at from jobkit.jobs j where j.id = any (p_jobs)
    ), of_ready as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select r.at from asked j
            cross join lateral (
                select q.ctid as at from jobkit.ready q
                where q.queue = j.queue and q.priority = j.priority and q.without_permit
                    and q.job_id = j.id
                for update skip locked
            ) r
        ))
        returning r.job_id
    ), of_scheduled as (
        delete from jobkit.scheduled s
        where s.ctid = any (array(
            select s.at from asked j
            cross join lateral (
                select q.ctid as at from jobkit.scheduled q
                where q.run_at = j.run_at and q.job_id = j.id for update skip locked
            ) s
        ))
        returning s.job_id
    )
    select array(table of_ready union all table of_scheduled)
$$;
