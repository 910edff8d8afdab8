-- matching_dead_letters: the dead letters that a filter matches, for lists, counts and operations.
--   p_window  how many to look at, between two places (`dead_letters_between`)
--   p_rows    how many to return at most; null: all that match
-- Returns them by time of failure, oldest or newest first, each with the place where the next page
-- begins, as `matching_jobs` does. If none matches, it returns one row without a dead letter.
create or replace function jobkit.matching_dead_letters(
    p_filter jsonb, p_newest_first boolean, p_after_at timestamptz, p_after_id bigint,
    p_before_at timestamptz, p_before_id bigint, p_window bigint, p_rows bigint
) returns table (next_at timestamptz, next_id bigint, nth bigint, id bigint)
language sql stable as $$
    with looked_at as materialized (
        select row_number() over () as nth, l.id, l.failed_at,
            (p_filter ->> 'kind' is null or l.kind = p_filter ->> 'kind')
            and (p_filter ->> 'queue' is null or l.queue = p_filter ->> 'queue')
            and (p_filter ->> 'fingerprint' is null
                or l.fingerprint = p_filter ->> 'fingerprint')
            and (p_filter ->> 'tag' is null or p_filter ->> 'tag' = any (l.tags)) as matches
        from (
            (
                select d.id, d.failed_at, d.kind, d.queue, d.fingerprint, d.tags
                from jobkit.dead_letters_between(p_filter ->> 'state', p_filter ->> 'key',
                    p_filter ->> 'fingerprint', p_after_at, p_after_id, p_before_at, p_before_id) d
                where not p_newest_first order by d.failed_at, d.id limit p_window
            ) union all (
                select d.id, d.failed_at, d.kind, d.queue, d.fingerprint, d.tags
                from jobkit.dead_letters_between(p_filter ->> 'state', p_filter ->> 'key',
                    p_filter ->> 'fingerprint', p_after_at, p_after_id, p_before_at, p_before_id) d
                where p_newest_first order by d.failed_at desc, d.id desc limit p_window
            )
        ) l
    ), page as materialized (
        -- They are in order already; a sort would read past the end of a full page.
        select l.nth, l.id from looked_at l where l.matches limit p_rows
    )
    select e.failed_at, e.id, p.nth, p.id
    from (select case when count(*) = p_rows then max(p.nth) else p_window end as nth from page p) n
    left join lateral (
        select l.failed_at, l.id from looked_at l where l.nth = n.nth limit 1
    ) e on true
    left join page p on true
$$;
