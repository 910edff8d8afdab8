-- dead_letter_replay_all: for operators; p_limit of them at most, the oldest
-- first. Call again until nothing is left. What fails again meanwhile is not taken twice.
--   select * from jobkit.dead_letter_replay_all(p_kind => 'send_receipt');
create or replace function jobkit.dead_letter_replay_all(
    p_kind text default null, p_queue text default null, p_key text default null,
    p_fingerprint text default null, p_until timestamptz default now(),
    p_limit integer default 1000, p_actor text default null,
    out replayed integer, out skipped integer, out conflicts integer
)
language sql
set search_path = pg_catalog, pg_temp
as $$
    select s.done, s.skipped, 0
    from jobkit.dead_letters_step('replay', 'open', p_kind, p_queue, p_key, p_fingerprint, p_until,
        '-infinity', 0, least(p_limit, 10000), coalesce(p_actor, session_user), 'replay') s
$$;
