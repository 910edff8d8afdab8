-- settle_others: settles jobs (p_other) one by one, in the order of dead letters; the caller holds
-- their rows. Returns the jobs that existed; `ending` says if the result differs from the outcome.
create or replace function jobkit.settle_others(
    p_worker bigint, p_other bigint[], p jobkit.outcomes
) returns table (job_id bigint, ending text)
language plpgsql as $$
declare
    v_outcome jobkit.outcome;
    v_job jobkit.jobs;
    v_queues text[] := '{}';                     -- queues that got a ready job back
begin
    for v_outcome in
        select o.*
        from unnest(p.n, p.job, p.outcome, p.error, p.error_type, p.reason, p.delay, p.keep,
                p.took, p.result)
            as o (n, job, outcome, error, error_type, reason, delay, keep, took, result)
        cross join lateral (select * from jobkit.jobs j where j.id = o.job offset 0) j
        where o.job = any (p_other) order by j.kind, j.dead_letter_key, j.dead_letter_id, o.job
    loop
        select * into v_job from jobkit.jobs j where j.id = v_outcome.job;
        if not found then
            continue;
        end if;
        ending := jobkit.settle_one(v_job, p_worker, v_outcome);
        if ending = 'release' and v_outcome.delay is null and v_job.concurrency_key is null then
            v_queues := v_queues || v_job.queue;
        end if;
        job_id := v_job.id;
        ending := nullif(ending, v_outcome.outcome);
        return next;
    end loop;
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues, p_worker);
    end if;
end
$$;
