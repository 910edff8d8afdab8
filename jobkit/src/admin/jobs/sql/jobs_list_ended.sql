-- A page of the ended jobs of a listing, the newest job first; like jobs_list.sql.
-- $1 filter, $2 listing, $3 the place before it, null for the beginning; $4 how many to look at,
-- $5 how many to return at most
select m.matching, m.looked_at, m.next::text, f.job_id as id, f.kind, f.queue, f.priority,
    f.attempt, f.max_attempts, false as cancel_requested, f.run_at, f.created_at,
    f.concurrency_group, f.concurrency_key, f.tags, 'finished' as state,
    left(coalesce(f.reason, f.errors -> -1 ->> 'error'), 300) as error,
    f.outcome, f.worker_id, f.finished_at as since, f.took
from jobkit.matching_jobs($1, $2, $3::text::jsonb, $4, $5) m
left join jobkit.finished f on f.job_id = m.id and f.expires_at = m.expires_at
order by m.nth
