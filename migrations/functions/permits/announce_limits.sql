-- Limits are data. A change of a group's limit locks the table, so that no permit granted under the
-- old limit commits after it. After a raise the caller runs a `sweep` for blocked jobs. A lowered
-- limit takes no permit away: the next is granted once fewer are taken.

-- announce_limits: records the groups of a worker's binary; the last start wins. Returns what
-- changed, and locks nothing if nothing did. p_rates may be shorter: a group without an entry has
-- no rate. A limiter of that name becomes a group.
create or replace function jobkit.announce_limits(
    p_groups text[], p_limits integer[], p_rates interval[] default '{}',
    p_bursts integer[] default '{}'
) returns table (concurrency_group text, old_limit integer, new_limit integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform jobkit.require_read_committed();
    if not exists (
        select from unnest(p_groups, p_limits, p_rates, p_bursts) as i (name, lim, rate, burst)
        left join jobkit.concurrency_groups g on g.name = i.name
        where g.limiter is not false or (g.default_limit, g.default_rate, g.default_burst)
            is distinct from (i.lim, i.rate, i.burst)
    ) then
        return;
    end if;
    lock table jobkit.concurrency_groups in exclusive mode;
    return query
    with before as materialized (
        select g.name, g.default_limit from jobkit.concurrency_groups g
    ), said as (
        insert into jobkit.concurrency_groups as g (name, default_limit, default_rate,
            default_burst)
        select distinct on (i.name) i.*
        from unnest(p_groups, p_limits, p_rates, p_bursts) as i (name, lim, rate, burst)
        on conflict (name) do update
            set default_limit = excluded.default_limit, limiter = false,
                changed_at = clock_timestamp(),
                default_rate = excluded.default_rate, default_burst = excluded.default_burst
            where g.limiter or (g.default_limit, g.default_rate, g.default_burst)
                is distinct from
                (excluded.default_limit, excluded.default_rate, excluded.default_burst)
        returning g.name, g.default_limit
    )
    select s.name, b.default_limit, s.default_limit
    from said s left join before b on b.name = s.name;
end
$$;
