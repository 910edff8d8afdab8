-- dead_letters_between: the dead letters of a state that failed between two places, in the order of
-- an index. A key, or for open ones a fingerprint, restricts them. It must be planned for the
-- arguments given.
create or replace function jobkit.dead_letters_between(
    p_state text, p_key text, p_fingerprint text, p_after_at timestamptz, p_after_id bigint,
    p_before_at timestamptz, p_before_id bigint
) returns table (
    id bigint, failed_at timestamptz, kind text, queue text, key text, fingerprint text,
    tags text[]
)
language sql stable as $$
    select d.id, d.failed_at, d.kind, d.queue, d.key, d.fingerprint, d.tags
    from jobkit.dead_letters d
    where d.state = p_state
        and (p_key is null or coalesce(d.key, '') = p_key and d.key is not null)
        and (p_key is not null or p_fingerprint is null or p_state <> 'open'
            or d.fingerprint = p_fingerprint)
        -- Each bound twice: an index scan ends only at the bound of a single column.
        and d.failed_at >= p_after_at and (d.failed_at, d.id) > (p_after_at, p_after_id)
        and d.failed_at <= p_before_at and (d.failed_at, d.id) < (p_before_at, p_before_id)
$$;
