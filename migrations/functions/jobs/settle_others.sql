-- settle_others: outcomes one by one, in the order of dead letters, of jobs (p_other) whose rows
-- are held. Returns the jobs that were there; `ending` is what became of one that did not go as
-- asked.
create or replace function jobkit.settle_others(
    p_worker bigint, p_other bigint[], p_job bigint[], p_outcome text[], p_error text[],
    p_error_type text[], p_reason text[], p_delay interval[], p_keep interval[], p_took interval[],
    p_result text[]
) returns table (job_id bigint, ending text)
language plpgsql as $$
declare
    v_row record;
    v_job jobkit.jobs;
    v_queues text[] := '{}';                     -- queues that got a ready job back
begin
    for v_row in
        select o.*
        from unnest(p_job, p_outcome, p_error, p_error_type, p_reason, p_delay, p_keep, p_took,
                p_result)
            as o (job, outcome, error, error_type, reason, delay, keep, took, result)
        cross join lateral (select * from jobkit.jobs j where j.id = o.job offset 0) j
        where o.job = any (p_other) order by j.kind, j.dead_letter_key, j.dead_letter_id, o.job
    loop
        select * into v_job from jobkit.jobs j where j.id = v_row.job;
        if not found then
            continue;
        end if;
        ending := jobkit.settle_one(v_job, p_worker, v_row.outcome, v_row.error,
            v_row.error_type, v_row.reason, v_row.delay, v_row.keep, v_row.took, v_row.result);
        if ending = 'release' and v_row.delay is null and v_job.concurrency_key is null then
            v_queues := v_queues || v_job.queue;
        end if;
        job_id := v_job.id;
        ending := nullif(ending, v_row.outcome);
        return next;
    end loop;
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues, p_worker);
    end if;
end
$$;
