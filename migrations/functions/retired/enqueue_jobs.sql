-- enqueue_jobs: `enqueue_all` for binaries that send payloads as `jsonb`.
create or replace function jobkit.enqueue_jobs(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_delay interval[], p_run_at timestamptz[], p_group text[], p_key text[],
    p_args jsonb[], p_tags jsonb[], p_metadata jsonb[], p_dead_letter_key text[] default '{}'
) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
    select jobkit.enqueue_all(p_kind, p_queue, p_priority, p_max_attempts, p_delay, p_run_at,
        p_group, p_key, p_args::text[], p_tags, p_metadata, p_dead_letter_key)
$$;
