-- report: writes what attempts of a worker report.
--   p_over    jobs that have ended and had steps or a checkpoint
--   p_unkept  jobs that have ended, are not kept, and had reports
-- An attempt may run twice under one number, if it was given back: the run that began last counts,
-- whichever is written last. Rows are in order, so that two workers do not deadlock. As with
-- `measure`, nobody waits for the disk, or for long for a lock.
create or replace function jobkit.report(
    p_worker bigint, p_reports jsonb, p_over bigint[] default '{}', p_unkept bigint[] default '{}'
) returns void
language sql
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
    select set_config('synchronous_commit', 'off', true);
    insert into jobkit.reports as r (job_id, attempt, worker_id, began_at, done, total, note,
        progressed_at, lines)
    select distinct on (i.job, i.attempt) i.job, i.attempt, p_worker,
        clock_timestamp() - i.began * interval '1 microsecond', i.done, i.total, i.note,
        clock_timestamp() - i.at * interval '1 microsecond', i.lines
    from jsonb_to_recordset(p_reports) as i (
        job bigint, attempt integer, began bigint, done bigint, total bigint, note text, at bigint,
        lines jsonb
    )
    order by i.job, i.attempt, i.began
    on conflict (job_id, attempt) do update set worker_id = excluded.worker_id,
        began_at = case when r.worker_id = excluded.worker_id then r.began_at
            else excluded.began_at end,
        done = excluded.done, total = excluded.total, note = excluded.note,
        progressed_at = excluded.progressed_at, lines = excluded.lines
    where r.worker_id = excluded.worker_id or r.began_at < excluded.began_at;
    delete from jobkit.reports r using jsonb_to_recordset(p_reports) as i (job bigint, attempt int)
    where r.job_id = i.job and r.attempt <= i.attempt - 5;
    delete from jobkit.reports r
    where r.job_id = any (p_unkept)
        and not exists (select from jobkit.jobs j where j.id = r.job_id);
    delete from jobkit.steps k
    where k.job_id = any (p_over)
        and not exists (select from jobkit.jobs j where j.id = k.job_id)
        and not exists (
            select from jobkit.dead_letters d where d.job_id = k.job_id and d.state <> 'resolved'
        )
$$;
