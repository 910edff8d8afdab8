-- What an operator's lists of jobs read.

-- listed_jobs: a live job with its state and the beginning of its last error. The state is read by
-- primary keys; a job that waits nowhere runs, unless it was claimed ahead.
create or replace view jobkit.listed_jobs as
    select j.id, j.kind, j.queue, j.priority, j.attempt, j.max_attempts,
        j.cancel_requested_at is not null as cancel_requested, j.run_at, j.created_at,
        j.concurrency_group, j.concurrency_key, j.tags,
        case
            -- One probe for each; a single one for both could scan the whole priority.
            when exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and r.without_permit and r.job_id = j.id
            ) or exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and not r.without_permit and r.job_id = j.id
            ) then 'ready'
            when exists (
                select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
            ) then 'scheduled'
            when exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = j.concurrency_group
                    and b.concurrency_key = j.concurrency_key
                    and b.priority = j.priority and b.job_id = j.id
            ) then 'blocked'
            when exists (
                select from jobkit.claimed_jobs c where c.waits and c.job_id = j.id
                    and c.worker_id = (
                        select a.worker_id from jobkit.claims a
                        where a.ahead and j.id = any (a.job_ids) limit 1
                    )
            ) then 'ready' else 'running' end as state,
        (
            select left(a.error, 300) from jobkit.attempts a where a.job_id = j.id
            order by a.attempt desc, a.ended_at desc limit 1
        ) as error
    from jobkit.jobs j;
