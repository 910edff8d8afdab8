-- replay_page: for the operators of version 29.
create or replace function jobkit.replay_page(
    p_kind text, p_queue text, p_key text, p_fingerprint text, p_until timestamptz,
    p_after_at timestamptz, p_after_id bigint, p_limit integer, p_actor text,
    out replayed integer, out skipped integer, out last_at timestamptz, out last_id bigint
)
language sql as $$
    select * from jobkit.dead_letters_step('replay', 'open', p_kind, p_queue, p_key, p_fingerprint,
        p_until, p_after_at, p_after_id, p_limit, p_actor, 'replay')
$$;
