-- enqueue_unique: enqueues jobs of which some have unique keys, in one call.
--   p_kind … p_version  as for `enqueue_all`
--   p_scope, p_unique   the key, and its kind or group; null: no key
--   p_while             queued | running | unfinished; or coalesce: a key that nobody holds, where
--                       p_for and p_on_duplicate are null
--   p_for               how long the key is held at least, from now; null: as p_while says
--   p_on_duplicate      skip | replace | debounce | run_again
-- Returns for each job, in the order given: job_id, and `enqueued`, `existing` or `replaced`.
-- It waits only for open transactions that have one of these keys in hand, at any isolation level.
-- It runs as the owner: a duplicate is judged by reading and changing jobs, for which whoever may
-- enqueue needs no rights. It does nothing else with them.
-- Why it takes keys in order, and tries three ways: docs/decisions/0016-unique-jobs.md.
create or replace function jobkit.enqueue_unique(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_delay interval[], p_run_at timestamptz[], p_group text[], p_key text[],
    p_args text[], p_tags jsonb[], p_metadata jsonb[], p_dead_letter_key text[],
    p_version smallint[], p_scope text[], p_unique text[], p_while text[], p_for interval[],
    p_on_duplicate text[]
) returns table (job_id bigint, answer text)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
-- A session keeps its plans, those from when there were few keys, too.
set enable_seqscan = off
set jit = off
as $$
declare
    v_how text;
    v_ids bigint[];
    v_answers text[];
begin
    perform jobkit.require_options(p_kind, p_queue, p_priority, p_max_attempts, p_group, p_key,
        p_dead_letter_key, p_args, p_metadata, p_version);
    perform jobkit.require_unique(p_scope, p_unique, p_while, p_for, p_on_duplicate);
    if array_remove(p_tags, null) <> '{}' then
        perform jobkit.require_tags(p_tags);
    end if;
    if array_remove(p_on_duplicate, null) = '{}' then
        return query select e.id, 'enqueued' from jobkit.insert_jobs(p_kind, p_queue, p_priority,
            p_max_attempts, p_delay, p_run_at, p_group, p_key, p_args, p_tags, p_metadata,
            p_dead_letter_key, p_version, null, p_scope, p_unique, p_while) as e (id);
        return;
    end if;
    foreach v_how in array case when cardinality(p_kind) > 1 then '{free,look}'::text[]
        else '{}' end
    loop
        begin
            select e.ids, e.answers into v_ids, v_answers
            from jobkit.enqueue_by_key(v_how, p_kind, p_queue, p_priority, p_max_attempts,
                p_delay, p_run_at, p_group, p_key, p_args, p_tags, p_metadata, p_dead_letter_key,
                p_version, p_scope, p_unique, p_while, p_for, p_on_duplicate) e;
            exit;
        exception when unique_violation then
            -- What it had taken is given back.
        end;
    end loop;
    if v_ids is null then
        select e.ids, e.answers into v_ids, v_answers
        from jobkit.enqueue_by_key('each', p_kind, p_queue, p_priority, p_max_attempts,
            p_delay, p_run_at, p_group, p_key, p_args, p_tags, p_metadata, p_dead_letter_key,
            p_version, p_scope, p_unique, p_while, p_for, p_on_duplicate) e;
    end if;
    return query select unnest(v_ids), unnest(v_answers);
end
$$;
revoke all on function jobkit.enqueue_unique from public;
