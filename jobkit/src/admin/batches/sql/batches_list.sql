-- Batches, the newest first, with how many members were added and ended. Of the changes that no
-- worker has added up yet, the oldest 10,000 count, so that the counts are those of some moment.
-- $1 only this one, null for any; $2 before this one, null for the beginning; $3 whether only those
-- that have not ended; $4 how many at most
with page as materialized (
    (
        select b.* from jobkit.batches b
        where not $3 and ($1::bigint is null or b.id = $1)
            and b.id < coalesce($2, 9223372036854775807)
        order by b.id desc limit $4
    ) union all (
        select b.* from jobkit.batches b
        where $3 and b.ended_at is null and b.id < coalesce($2, 9223372036854775807)
        order by b.id desc limit $4
    )
), counted as (
    select c.batch_id, array_agg(c.outcome) as outcomes, array_agg(c.jobs) as jobs
    from (
        select c.batch_id, c.outcome, sum(c.jobs)::bigint as jobs
        from (
            select c.batch_id, c.outcome, c.jobs from jobkit.batch_counts c
            where c.batch_id = any (array(select p.id from page p))
            union all
            select t.batch_id, t.outcome, t.jobs
            from (select * from jobkit.batch_tallies t order by t.id limit 10000) t
            where t.batch_id = any (array(select p.id from page p))
        ) c
        group by c.batch_id, c.outcome
    ) c
    group by c.batch_id
)
select p.id, p.created_at, p.closed_at, p.cancelled_at, p.ended_at, p.hold_dead, p.then_job,
    p.if_all_job, p.else_job, c.outcomes, c.jobs
from page p left join counted c on c.batch_id = p.id
order by p.id desc
