-- dead_letters_before: for the lists of version 29.
create or replace function jobkit.dead_letters_before(
    p_state text, p_key text, p_fingerprint text, p_before_at timestamptz, p_before_id bigint,
    p_after timestamptz, p_rows integer
) returns table (
    id bigint, kind text, queue text, key text, fingerprint text, failed_at timestamptz
)
language sql stable as $$
    select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
    from jobkit.dead_letters_between(p_state, p_key, p_fingerprint, p_after, 9223372036854775807,
        p_before_at, p_before_id) d
    order by d.failed_at desc, d.id desc limit p_rows
$$;
