-- enqueue_all: inserts jobs, all in one call, and returns their ids in the order given.
-- It only inserts, at whatever isolation level: it waits for nobody and nobody waits for it.
--   p_delay  how long from now; null = at p_run_at; both null = now
--   p_group, p_key  concurrency key, or null; p_dead_letter_key  what its failures share, or null
--   p_version  of the payload; null = 1
-- All but the first four and p_args may be empty: what is missing is null.
-- It runs as the owner, for whoever may enqueue and nothing else: it sets ids and times itself.
create or replace function jobkit.enqueue_all(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_delay interval[], p_run_at timestamptz[], p_group text[], p_key text[],
    p_args text[], p_tags jsonb[], p_metadata jsonb[], p_dead_letter_key text[] default '{}',
    p_version smallint[] default '{}'
) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    return query select jobkit.insert_jobs(p_kind, p_queue, p_priority, p_max_attempts, p_delay,
        p_run_at, p_group, p_key, p_args, p_tags, p_metadata, p_dead_letter_key, p_version,
        p_checked => false);
end
$$;
revoke all on function jobkit.enqueue_all from public;
