-- dead_letters_page: those that a filter means, in the order in which they failed: of the next
-- 10,000 those that fit, p_limit at most, and where the next page begins, null after the last.
-- Planned each time, so that the branches that cannot apply are gone and nothing is sorted.
create or replace function jobkit.dead_letters_page(
    p_state text, p_kind text, p_queue text, p_key text, p_fingerprint text, p_until timestamptz,
    p_after_at timestamptz, p_after_id bigint, p_limit integer,
    out ids bigint[], out last_at timestamptz, out last_id bigint
)
language plpgsql
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
begin
    with page as materialized (
        select l.id, l.failed_at
        from jobkit.dead_letters_after(p_state, p_key, p_fingerprint, p_after_at, p_after_id,
            p_until, 10000) l
        where (p_kind is null or l.kind = p_kind) and (p_queue is null or l.queue = p_queue)
            and (p_fingerprint is null or l.fingerprint = p_fingerprint)
        order by l.failed_at, l.id limit p_limit
    )
    select array(select p.id from page p order by p.failed_at, p.id), e.failed_at, e.id
    into ids, last_at, last_id
    from (select count(*) = p_limit as full from page) f
    left join lateral (
        (
            select p.failed_at, p.id from page p where f.full
            order by p.failed_at desc, p.id desc limit 1
        )
        union all
        (
            select l.failed_at, l.id
            from jobkit.dead_letters_after(p_state, p_key, p_fingerprint, p_after_at, p_after_id,
                p_until, 10000) l
            where not f.full order by l.failed_at, l.id offset 9999
        )
    ) e on true;
end
$$;
