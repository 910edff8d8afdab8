-- steps_of: the last 100 steps of a job that have returned, without what they returned.
create or replace function jobkit.steps_of(p_job bigint) returns jsonb
language sql stable as $$
    select coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'attempt', s.attempt,
        'bytes', s.bytes, 'saved_at', (extract(epoch from s.saved_at) * 1e6)::bigint)
        order by s.saved_at), '[]')
    from (
        select * from jobkit.shown_steps s where s.job_id = p_job and s.name <> ''
        order by s.saved_at desc limit 100
    ) s
$$;
