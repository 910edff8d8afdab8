-- A page of the live jobs of a listing (`matching_jobs`). If none matches, there is one row without
-- a job.
-- $1 filter, $2 listing, $3 the place before it, null for the beginning; $4 how many to look at,
-- $5 how many to return at most
select m.matching, m.looked_at, m.next::text, j.*, null as outcome, null::interval as took,
    coalesce(m.worker_id, c.worker_id) as worker_id,
    coalesce(m.since, c.claimed_at, b.since) as since
from jobkit.matching_jobs($1, $2, $3::text::jsonb, $4, $5) m
left join jobkit.listed_jobs j on j.id = m.id
left join jobkit.claims c on $2 = 'live' and j.state = 'running' and j.id = any (c.job_ids)
left join jobkit.blocked_executions b on $2 = 'live' and b.job_id = j.id and (b.concurrency_group,
    b.concurrency_key, b.priority) = (j.concurrency_group, j.concurrency_key, j.priority)
order by m.nth
