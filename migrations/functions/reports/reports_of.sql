-- reports_of: the reports of the last attempts of a job, the newest first; times in microseconds.
create or replace function jobkit.reports_of(p_job bigint) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_agg(jsonb_build_object('attempt', r.attempt, 'worker_id', r.worker_id,
        'began_at', (extract(epoch from r.began_at) * 1e6)::bigint, 'done', r.done,
        'total', r.total, 'note', r.note,
        'progressed_at', (extract(epoch from r.progressed_at) * 1e6)::bigint,
        'lines', coalesce(r.lines, '[]')) order by r.attempt desc), '[]')
    from jobkit.reports r where r.job_id = p_job
$$;
