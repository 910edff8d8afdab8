-- discard_page: for the operators of version 29.
create or replace function jobkit.discard_page(
    p_state text, p_kind text, p_queue text, p_key text, p_fingerprint text,
    p_until timestamptz, p_after_at timestamptz, p_after_id bigint, p_limit integer,
    p_actor text, p_action text,
    out discarded integer, out skipped integer, out last_at timestamptz, out last_id bigint
)
language sql as $$
    select * from jobkit.dead_letters_step('discard_dead_letters', p_state, p_kind, p_queue, p_key,
        p_fingerprint, p_until, p_after_at, p_after_id, p_limit, p_actor, p_action)
$$;
