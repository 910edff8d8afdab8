-- stay_waiting: keeps these jobs where they wait until the caller's transaction ends: claims,
-- grants and the promoter skip them. Returns the jobs it keeps. Locked jobs are left out: they may
-- run before that transaction ends.
create or replace function jobkit.stay_waiting(p_jobs bigint[]) returns bigint[]
language plpgsql
set enable_seqscan = off
set jit = off as $$
begin
    return array(
        select j.id from jobkit.jobs j
        cross join unnest('{f,t}'::boolean[]) as w (without_permit)
        cross join lateral (
            select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                and r.without_permit = w.without_permit and r.job_id = j.id
            for update skip locked
        ) h
        where j.id = any (p_jobs)
        union all
        select j.id from jobkit.jobs j
        cross join lateral (
            select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
            for update skip locked
        ) h
        where j.id = any (p_jobs)
        union all
        select j.id from jobkit.jobs j
        cross join lateral (
            select from jobkit.blocked_executions b
            where b.concurrency_group = j.concurrency_group
                and b.concurrency_key = j.concurrency_key and b.priority = j.priority
                and b.job_id = j.id
            for update skip locked
        ) h
        where j.id = any (p_jobs)
    );
end
$$;
