-- store_all: `enqueue_all` for a client that has looked at the jobs (`wrong_with`). Whoever may
-- write to the tables is spared a second look, but for half a key: one would stop its queue.
create or replace function jobkit.store_all(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_delay interval[], p_run_at timestamptz[], p_group text[], p_key text[],
    p_args text[], p_tags jsonb[], p_metadata jsonb[], p_dead_letter_key text[],
    p_version smallint[]
) returns setof bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if has_table_privilege('jobkit.jobs', 'insert') then
        return query select jobkit.insert_jobs(p_kind, p_queue, p_priority, p_max_attempts,
            p_delay, p_run_at, p_group, p_key, p_args, p_tags, p_metadata, p_dead_letter_key,
            p_version, p_checked => p_key = '{}');
    else
        return query select jobkit.enqueue_all(p_kind, p_queue, p_priority, p_max_attempts,
            p_delay, p_run_at, p_group, p_key, p_args, p_tags, p_metadata, p_dead_letter_key,
            p_version);
    end if;
end
$$;
