-- new_job: makes a job to be stored from named columns. It is inlined.
create or replace function jobkit.new_job(
    p_kind text, p_queue text, p_priority smallint, p_max_attempts smallint, p_args text,
    p_delay interval default null, p_run_at timestamptz default null,
    p_concurrency_group text default null, p_concurrency_key text default null,
    p_dead_letter_key text default null, p_tags text[] default null, p_metadata jsonb default null,
    p_version smallint default null, p_unique_scope text default null,
    p_unique_key text default null, p_unique_while text default null,
    p_unique_for interval default null, p_on_duplicate text default null,
    p_terms jsonb default null
) returns jobkit.new_job
language sql stable as $$
    select row(
        p_kind, p_queue, p_priority, p_max_attempts, p_args, p_delay, p_run_at,
        p_concurrency_group, p_concurrency_key, p_dead_letter_key, p_tags, p_metadata, p_version,
        p_unique_scope, p_unique_key, p_unique_while, p_unique_for, p_on_duplicate, p_terms
    )::jobkit.new_job
$$;
