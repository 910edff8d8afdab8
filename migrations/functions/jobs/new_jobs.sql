-- new_jobs: makes jobs to be stored from named columns. It is inlined; if it were IMMUTABLE, a plan
-- for these values would fold them into a constant and copy all payloads.
create or replace function jobkit.new_jobs(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[], p_args text[],
    p_delay interval[] default '{}', p_run_at timestamptz[] default '{}',
    p_concurrency_group text[] default '{}', p_concurrency_key text[] default '{}',
    p_dead_letter_key text[] default '{}', p_tags jsonb[] default '{}',
    p_metadata jsonb[] default '{}', p_version smallint[] default '{}',
    p_unique_scope text[] default '{}', p_unique_key text[] default '{}',
    p_unique_while text[] default '{}', p_unique_for interval[] default '{}',
    p_on_duplicate text[] default '{}', p_terms jsonb[] default '{}'
) returns jobkit.new_jobs
language sql stable as $$
    select row(
        p_kind, p_queue, p_priority, p_max_attempts, p_args, p_delay, p_run_at,
        p_concurrency_group, p_concurrency_key, p_dead_letter_key, p_tags, p_metadata, p_version,
        p_unique_scope, p_unique_key, p_unique_while, p_unique_for, p_on_duplicate, p_terms
    )::jobkit.new_jobs
$$;
