-- timed_errors: failed attempts with their times in microseconds, and the job that they belong to.
create or replace function jobkit.timed_errors(p_errors jsonb, p_job bigint) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_agg(jsonb_build_object('job_id', p_job) || e.value || jsonb_build_object(
        'ended_at', (extract(epoch from (e.value ->> 'ended_at')::timestamptz) * 1e6)::bigint,
        'took', (extract(epoch from (e.value ->> 'took')::interval) * 1e6)::bigint
    ) order by e.place), '[]')
    from jsonb_array_elements(coalesce(p_errors, '[]')) with ordinality as e (value, place)
$$;
