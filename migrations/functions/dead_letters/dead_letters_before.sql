-- dead_letters_before: the same, backwards from a place: the newest failure first.
create or replace function jobkit.dead_letters_before(
    p_state text, p_key text, p_fingerprint text, p_before_at timestamptz, p_before_id bigint,
    p_after timestamptz, p_rows integer
) returns table (
    id bigint, kind text, queue text, key text, fingerprint text, failed_at timestamptz
)
language sql stable as $$
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is not null and coalesce(d.key, '') = p_key and d.key is not null
            and d.state = p_state and (d.failed_at, d.id) < (p_before_at, p_before_id)
            and d.failed_at > p_after
        order by d.failed_at desc, d.id desc limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and p_fingerprint is not null and p_state = 'open'
            and d.state = 'open' and d.fingerprint = p_fingerprint
            and (d.failed_at, d.id) < (p_before_at, p_before_id) and d.failed_at > p_after
        order by d.failed_at desc, d.id desc limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and (p_fingerprint is null or p_state <> 'open')
            and d.state = p_state
            and (d.failed_at, d.id) < (p_before_at, p_before_id) and d.failed_at > p_after
        order by d.failed_at desc, d.id desc limit p_rows
    )
$$;
