-- A page of the live jobs that a filter means, in the order of their ids: of the next 10,000 jobs
-- those that fit, 500 at most, and the job after which the next page begins, null after the last.
-- The state of each is read by primary keys; one that waits nowhere runs.
-- $1 after this job, $2 up to this one; $3 kind, $4 queue, $5 concurrency group, $6 concurrency
-- key, $7 tag, $8 state: null for any
with looked_at as materialized (
    select j.id, j.kind, j.queue, j.concurrency_group, j.concurrency_key, j.tags
    from jobkit.jobs j where j.id > $1 and j.id <= $2 order by j.id limit 10000
), page as materialized (
    select l.id from looked_at l
    left join lateral (
        select j.state from jobkit.listed_jobs j where j.id = l.id offset 0
    ) p on $8::text is not null
    where ($3::text is null or l.kind = $3) and ($4::text is null or l.queue = $4)
        and ($5::text is null or l.concurrency_group = $5)
        and ($6::text is null or l.concurrency_key = $6)
        and ($7::text is null or $7 = any (l.tags)) and ($8 is null or p.state = $8)
    order by l.id limit 500
)
select array(select p.id from page p order by p.id) as jobs,
    case when (select count(*) from page) = 500 then (select max(p.id) from page p)
        when (select count(*) from looked_at) = 10000 then (select max(l.id) from looked_at l)
    end as last
