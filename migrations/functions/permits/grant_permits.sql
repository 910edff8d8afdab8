-- grant_permits: gives the free permits of keys to their first blocked jobs that a worker serves,
-- by priority, then age. Deletes a semaphore without permit, blocked job and override.
--   p_groups, p_keys  the keys, whose semaphores the caller has locked
--   p_freed           permits just taken back of each key and not yet subtracted from `taken`, so
--                     that a hand-over writes no semaphore; null: none
-- Returns the jobs, which the caller claims or makes ready (`unblock`). A key gives at most 1,000
-- more than p_freed; a sweep gives the rest. Keys with a rate or a pause go one by one
-- (`grant_timed`).
-- The caller's settings decide the plan, as for `hand_over` and `pass_permit`. Why:
-- docs/decisions/0003-permits.md.
create or replace function jobkit.grant_permits(p_groups text[], p_keys text[], p_freed integer[])
returns setof bigint
language plpgsql as $$
declare
    v_started constant timestamptz := clock_timestamp();
    v_granted integer;
begin
    return query
    with choice as materialized (
        select l.at, l.concurrency_group as grp, l.concurrency_key as key, l.crowded, l.taken,
            l.override_limit, l.timed, f.freed, f.free, b.at as place, b.job_id
        from unnest(p_groups, p_keys, p_freed) as k (grp, key, freed)
        cross join lateral (
            select * from jobkit.key_limits l
            where l.concurrency_group = k.grp and l.concurrency_key = k.key limit 1
        ) l
        cross join lateral (
            select coalesce(k.freed, 0) as freed,
                case when l.timed then 0
                    else greatest(0, l.effective_limit - l.taken + coalesce(k.freed, 0)) end as free
        ) f
        left join lateral (
            select b.ctid as at, b.job_id from jobkit.blocked_executions b
            where l.crowded and b.concurrency_group = k.grp and b.concurrency_key = k.key
                and (b.priority, b.job_id) >= (l.from_priority, l.from_id)
                and exists (select from jobkit.serving(b.queue, b.kind))
            order by b.priority, b.job_id limit least(f.free, f.freed + 1000)
        ) b on true
    ), semaphore as materialized (
        select c.at, c.crowded, count(c.job_id) - c.freed as change,
            count(c.job_id) = 0 and c.taken = c.freed and c.override_limit is null as unused,
            c.crowded and (count(c.job_id) > 0 or (c.free = 0 and c.taken > c.freed) or exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = c.grp and b.concurrency_key = c.key offset 0
            )) as stays_crowded
        from choice c where not c.timed
        group by c.at, c.grp, c.key, c.crowded, c.taken, c.override_limit, c.freed, c.free
    ), unblocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(select c.place from choice c where c.place is not null))
    ), permit as (
        insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
        select c.job_id, c.grp, c.key from choice c where c.job_id is not null
    ), forgotten as (
        delete from jobkit.semaphores s
        where s.ctid = any (array(
            select c.at from semaphore c where c.unused and not c.stays_crowded
        ))
    ), counted as (
        update jobkit.semaphores s set taken = s.taken + c.change, crowded = c.stays_crowded
        from semaphore c
        where s.ctid = c.at and (c.change <> 0 or c.stays_crowded <> c.crowded)
            and (c.stays_crowded or not c.unused)
    )
    -- A setting, since it costs nothing if no key is timed.
    select c.job_id from choice c where c.job_id is not null
        or c.timed and set_config('jobkit.timed', 'on', true) is null;
    get diagnostics v_granted = row_count;
    if current_setting('jobkit.timed', true) = 'on' then
        perform set_config('jobkit.timed', '', true);
        return query select jobkit.grant_timed(p_groups, p_keys, p_freed);
    end if;
    -- Too slow for so few jobs: the search walked through dead entries that a transaction elsewhere
    -- pins. The next search begins at the first live one.
    if clock_timestamp() - v_started
        > interval '500 us' + interval '100 us' * (v_granted + cardinality(p_groups))
    then
        perform jobkit.skip_dead(p_groups, p_keys);
    end if;
end
$$;
