-- Jobs without attempts left that nobody ended: a crash between two binaries, a limit lowered by
-- hand, rows brought back from a backup. They become dead letters: moved, never removed unmoved.

-- recover: buries those of these jobs that have used up their attempts and are not running. One
-- that waits leaves the place where it waits, with its permit; one that is in no place at all is
-- buried from there. Returns how many.
create or replace function jobkit.recover(p_jobs bigint[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_exhausted bigint[];
    v_pulled record;
    v_job jobkit.jobs;
    v_count integer := 0;
begin
    perform jobkit.decide_lock();
    v_exhausted := array(
        select j.id from jobkit.jobs j where j.id = any (p_jobs) and j.attempt >= j.max_attempts
            and j.cancel_requested_at is null
    );
    select * into v_pulled from jobkit.withdraw(v_exhausted);
    -- In one snapshot: what moves meanwhile is seen in the one place or in the other.
    v_exhausted := v_pulled.jobs || array(
        select j.id from jobkit.jobs j
        where j.id = any (v_exhausted) and j.id <> all (v_pulled.jobs)
            and not exists (select from jobkit.claims c where j.id = any (c.job_ids))
            and not exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and r.without_permit and r.job_id = j.id
            )
            and not exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and not r.without_permit and r.job_id = j.id
            )
            and not exists (
                select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
            )
            and not exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = j.concurrency_group
                    and b.concurrency_key = j.concurrency_key and b.priority = j.priority
                    and b.job_id = j.id
            )
    );
    for v_job in select * from jobkit.lock_jobs(v_exhausted) loop
        perform jobkit.bury(v_job, v_job.attempt, 'exhausted', coalesce(
            (select a.error from jobkit.attempts a where a.job_id = v_job.id
                order by a.attempt desc, a.ended_at desc limit 1),
            'it was found without an attempt left'), null);
        v_count := v_count + 1;
    end loop;
    perform jobkit.unstick(v_exhausted);
    perform jobkit.grant_and_wake(v_pulled.groups, v_pulled.keys, v_pulled.freed);
    return v_count;
end
$$;
