-- enqueue_as_owner: `enqueue_unique` for a role that may only enqueue. What becomes of a duplicate
-- takes rights to read and change jobs, which are the owner's here; it does nothing else with them.
create or replace function jobkit.enqueue_as_owner(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_delay interval[], p_run_at timestamptz[], p_group text[], p_key text[],
    p_args text[], p_tags jsonb[], p_metadata jsonb[], p_dead_letter_key text[],
    p_version smallint[], p_scope text[], p_unique text[], p_while text[], p_for interval[],
    p_on_duplicate text[]
) returns table (job_id bigint, answer text)
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
    select * from jobkit.enqueue_unique(p_kind, p_queue, p_priority, p_max_attempts, p_delay,
        p_run_at, p_group, p_key, p_args, p_tags, p_metadata, p_dead_letter_key, p_version,
        p_scope, p_unique, p_while, p_for, p_on_duplicate)
$$;
-- Whoever may enqueue otherwise needs it not.
revoke all on function jobkit.enqueue_as_owner from public;
