-- make_ready: makes these jobs ready and returns them. The caller has removed them from where they
-- were.
--   p_permits  jobs with a concurrency key hold their permit, and go ahead of the backlog
-- Enqueues write rows themselves (`enqueue_all`, and the statement for one job): a call would cost
-- something for each job.
create or replace function jobkit.make_ready(p_jobs bigint[], p_permits boolean default false)
returns table (queue text, priority smallint, job_id bigint)
language plpgsql as $$
begin
    return query
    insert into jobkit.ready (queue, priority, without_permit, job_id, kind, concurrency_group,
        concurrency_key)
    select j.queue, j.priority, j.concurrency_key is null or not p_permits, j.id,
        jobkit.versioned(j.kind, j.version), j.concurrency_group, j.concurrency_key
    from jobkit.jobs j where j.id = any (p_jobs)
    returning ready.queue, ready.priority, ready.job_id;
end
$$;
