-- jobkit.settle: records the outcomes of claimed jobs; returns those that did not go as asked,
-- which jobs got a permit (with queue and priority), and those of them that the worker claimed.
-- $1 worker, $2 claim numbers, $3 jobs, $4 outcomes, $5 errors, $6 reasons, $7 delays, $8 how long
-- to keep, $9 how long they took, $10 types of the errors: arrays, those from $5 on perhaps
-- shorter; $11 number of the claim of what it unblocks, or null, $12 queues, $13 room in each;
-- $14 what they returned, perhaps shorter
select s.job_id, s.ending, s.queue, s.priority,
    jobkit.versioned((s.job).kind, (s.job).version) as kind, (s.job).attempt + 1 as attempt,
    (s.job).max_attempts, (s.job).crashes, (s.job).snoozes, (s.job).created_at,
    (s.job).cancel_requested_at is not null as cancelled,
    (s.job).concurrency_key is not null as keyed, (s.job).args, (s.job).tags, (s.job).metadata,
    clock_timestamp() - least(greatest((s.job).run_at, (s.job).created_at, 'epoch'),
        clock_timestamp()) as waited
from jobkit.settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) s
