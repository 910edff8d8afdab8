-- dead_letters_after: the dead letters of a state after a place, in the order in which they failed,
-- p_rows at most; of a key, or of a fingerprint when they are open, if one is given. The branches
-- have an index each; one condition for all of them would have none.
create or replace function jobkit.dead_letters_after(
    p_state text, p_key text, p_fingerprint text, p_after_at timestamptz, p_after_id bigint,
    p_until timestamptz, p_rows integer
) returns table (
    id bigint, kind text, queue text, key text, fingerprint text, failed_at timestamptz
)
language sql stable as $$
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is not null and coalesce(d.key, '') = p_key and d.key is not null
            and d.state = p_state and (d.failed_at, d.id) > (p_after_at, p_after_id)
            and d.failed_at <= p_until
        order by d.failed_at, d.id limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and p_fingerprint is not null and p_state = 'open'
            and d.state = 'open' and d.fingerprint = p_fingerprint
            and (d.failed_at, d.id) > (p_after_at, p_after_id) and d.failed_at <= p_until
        order by d.failed_at, d.id limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and (p_fingerprint is null or p_state <> 'open')
            and d.state = p_state
            and (d.failed_at, d.id) > (p_after_at, p_after_id) and d.failed_at <= p_until
        order by d.failed_at, d.id limit p_rows
    )
$$;
