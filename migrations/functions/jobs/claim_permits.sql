-- claim_permits: acquires permits for the picked jobs that need one, after coalescing those that
-- coalesce. Returns the jobs that stay, and notes about lanes and about jobs that wait.
create or replace function jobkit.claim_permits(
    p_ids bigint[], p_queues text[], p_kinds text[],
    out ids bigint[], out notes json[]
)
language plpgsql as $$
declare
    v_some record;
    v_keyed bigint[] := '{}';                    -- jobs that need a permit
    v_metered bigint[] := '{}';                  -- jobs that take a slot of a rate
    v_denied bigint[];                           -- jobs of both that got none
    v_coalesce boolean := false;                 -- whether some of them coalesce
    v_needy bigint[];
    v_gone record;
begin
    ids := p_ids;
    -- Where the next scan of a lane may begin, even if it yielded no job this time.
    for v_some in
        select p.queue, p.lane, min(p.id) as id, array_agg(p.id) filter (where p.needy) as needy,
            bool_or(p.coalesce and p.needy) as coalesce,
            array_agg(p.id) filter (where p.metered) as metered
        from (
            select j.id, j.queue, h.metered,
                j.concurrency_key is not null and h.held is null as needy,
                j.unique_while is not distinct from 'coalesce' as coalesce,
                (j.priority + 3) * 2 + (h.held is null)::integer as lane
            from jobkit.jobs j
            left join lateral (
                select true as held, h.metered from jobkit.permits h where h.job_id = j.id offset 0
            ) h on true
            where j.id = any (p_ids)
        ) p
        group by p.queue, p.lane
    loop
        notes := notes || json_build_object('lowest',
            json_build_array(v_some.queue, v_some.lane, v_some.id));
        v_keyed := v_keyed || v_some.needy;
        v_metered := v_metered || v_some.metered;
        v_coalesce := v_coalesce or v_some.coalesce;
    end loop;
    if v_coalesce then
        select c.ids, c.ended, c.put_back into v_gone
        from jobkit.coalesce_picked(v_keyed, true, p_kinds) c;
        v_needy := v_gone.ids;
        ids := array(select unnest(ids) except select unnest(v_keyed)) || v_needy;
        v_keyed := v_needy;
        notes := notes || json_build_object('gone', v_gone.ended,
            'again_in', case when v_gone.put_back then 0.05 end);
    end if;
    if v_keyed <> '{}' or v_metered <> '{}' then
        v_denied := jobkit.claim_keyed(v_keyed, p_queues, p_kinds, v_metered);
    end if;
    if v_coalesce then
        perform jobkit.coalesce_blocked(v_denied);
    end if;
    if v_denied <> '{}' then
        for v_some in
            select j.queue, count(*) as n
            from jobkit.jobs j where j.id = any (v_denied) group by 1
        loop
            notes := notes
                || json_build_object('waiting', json_build_array(v_some.queue, v_some.n));
        end loop;
        -- Not a join: it could compare each with each.
        ids := array(select unnest(ids) except select unnest(v_denied));
    end if;
end
$$;
