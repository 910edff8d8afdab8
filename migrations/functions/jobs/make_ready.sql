-- make_ready: these jobs may be claimed. Whoever calls it has taken them from where they were; with
-- p_permits those that have a key hold their permit, and go ahead of the backlog. Returns them.
-- Only what enqueues writes rows of its own (`enqueue_all`, and the statement for one job): there
-- a call would be a part of what each job costs.
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
