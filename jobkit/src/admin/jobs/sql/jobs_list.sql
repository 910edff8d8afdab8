-- A page of the live jobs of a listing: of the next ones those that are meant, each with how many
-- were meant and looked at, where the page ends when it is full, and where the search did when it
-- came to its end. When none is meant there is one row without a job.
-- $1 listing, $2 the place before it, null for the beginning; $3 how many are looked at, $4 how
-- many at most; null for any: $5 kind, $6 queue, $7 tag, $8 group, $9 key, $10 part of an error,
-- $11 worker, $12 id; $13 paths and $14 values of the payload, $15 whether hidden ones count
with looked_at as materialized (
    select l.*, m.meant from (
        select row_number() over () as nth, i.*
        from jobkit.jobs_in($1, $2::text::jsonb, $3, $6, $8, $9, $11, $12) i
    ) l
    cross join lateral (
        select ($5::text is null or j.kind = $5) and ($6::text is null or j.queue = $6)
            and ($7::text is null or $7 = any (j.tags))
            and ($8::text is null or j.concurrency_group = $8)
            and ($9::text is null or j.concurrency_key = $9)
            and ($10::text is null or exists (select from jobkit.attempts a
                where a.job_id = j.id and position(lower($10) in lower(a.error)) > 0))
            and (cardinality($13::text[]) = 0 or jobkit.has_args(j.kind, (
                select p.args from jobkit.jobs p where p.id = j.id), $13, $14, $15)) as meant
        from jobkit.listed_jobs j where j.id = l.id offset 0
    ) m
), page as (select * from looked_at l where l.meant order by l.nth limit $4)
select n.*, j.*, null as outcome, null::interval as took, coalesce(p.worker_id, c.worker_id)
    as worker_id, coalesce(p.since, c.claimed_at, b.since) as since
from (
    select count(*) filter (where l.meant) as meant, count(*) as looked_at,
        (select jobkit.place_in($1, p.id, p.without_permit, p.since)::text
            from page p order by p.nth offset $4 - 1) as page_end,
        (select jobkit.place_in($1, l.id, l.without_permit, l.since)::text
            from looked_at l where l.nth = $3) as search_end
    from looked_at l
) n
left join page p on true
left join jobkit.listed_jobs j on j.id = p.id
left join jobkit.claims c on $1 = 'live' and j.state = 'running' and j.id = any (c.job_ids)
left join jobkit.blocked_executions b on $1 = 'live' and b.job_id = j.id and (b.concurrency_group,
    b.concurrency_key, b.priority) = (j.concurrency_group, j.concurrency_key, j.priority)
order by p.nth
