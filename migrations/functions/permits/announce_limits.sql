-- Limits are data. A change of a group's limit holds the table, so that no permit granted under the
-- old limit commits after it; whoever raised one has blocked jobs looked after (`sweep`). A lowered
-- limit takes no permit away: the next are granted once fewer are taken.

-- announce_limits: what a worker's binary says of its groups; the last start wins. Returns what
-- changed. Nothing is locked when nothing does.
create or replace function jobkit.announce_limits(p_groups text[], p_limits integer[])
returns table (concurrency_group text, old_limit integer, new_limit integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform jobkit.require_read_committed();
    if not exists (
        select from unnest(p_groups, p_limits) as i (name, lim)
        left join jobkit.concurrency_groups g on g.name = i.name
        where g.default_limit is distinct from i.lim
    ) then
        return;
    end if;
    lock table jobkit.concurrency_groups in exclusive mode;
    return query
    with before as materialized (
        select g.name, g.default_limit from jobkit.concurrency_groups g
    ), said as (
        insert into jobkit.concurrency_groups as g (name, default_limit)
        select distinct on (i.name) i.name, i.lim from unnest(p_groups, p_limits) as i (name, lim)
        on conflict (name) do update
            set default_limit = excluded.default_limit, changed_at = clock_timestamp()
            where g.default_limit <> excluded.default_limit
        returning g.name, g.default_limit
    )
    select s.name, b.default_limit, s.default_limit
    from said s left join before b on b.name = s.name;
end
$$;
