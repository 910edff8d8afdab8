-- may_wait: whether a job may wait in a worker for a slot (`claim_ahead`). Not if it has a
-- concurrency key, since its permit would wait, too; coalesces, since a newer job may come; is on
-- its last attempt; was with a worker that died; or is marked as cancelled.
create or replace function jobkit.may_wait(p_job jobkit.jobs) returns boolean
language sql immutable as $$
    select p_job.concurrency_key is null and p_job.crashes = 0
        and p_job.attempt + 1 < p_job.max_attempts and p_job.cancel_requested_at is null
        and p_job.unique_while is distinct from 'coalesce'
$$;
