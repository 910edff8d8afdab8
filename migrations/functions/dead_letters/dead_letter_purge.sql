-- dead_letter_purge: for operators; removes p_limit at most that failed last so long ago, the
-- oldest first. Call again until nothing is left.
--   select jobkit.dead_letter_purge(interval '90 days');
create or replace function jobkit.dead_letter_purge(
    p_older_than interval, p_kind text default null, p_queue text default null,
    p_key text default null, p_fingerprint text default null, p_state text default 'open',
    p_limit integer default 1000, p_actor text default null
) returns integer
language sql
set search_path = pg_catalog, pg_temp
as $$
    select s.done
    from jobkit.dead_letters_step('discard_dead_letters', p_state, p_kind, p_queue, p_key,
        p_fingerprint, clock_timestamp() - p_older_than, '-infinity', 0, least(p_limit, 10000),
        coalesce(p_actor, session_user), 'purge') s
$$;
