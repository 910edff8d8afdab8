-- announce_limiters: records the limiters of a worker's binary; the last start wins. Locks nothing
-- if nothing changes. Refuses the name of a group that jobs have keys of. Returns the limiters
-- whose rate changed.
create or replace function jobkit.announce_limiters(
    p_names text[], p_rates interval[], p_bursts integer[]
) returns setof text
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform jobkit.require_read_committed();
    perform jobkit.refuse('the limiter ' || k.concurrency_group
        || ' has the same name as a concurrency group: rename one of them')
    from jobkit.kinds k where k.concurrency_group = any (p_names);
    if not exists (
        select from unnest(p_names, p_rates, p_bursts) as i (name, rate, burst)
        left join jobkit.concurrency_groups g on g.name = i.name
        where (g.limiter, g.default_rate, g.default_burst)
            is distinct from (true, i.rate, i.burst)
    ) then
        return;
    end if;
    lock table jobkit.concurrency_groups in exclusive mode;
    return query
    with before as materialized (
        select g.name, g.default_rate, g.default_burst from jobkit.concurrency_groups g
        where g.limiter
    ), said as (
        insert into jobkit.concurrency_groups as g (name, default_limit, default_rate,
            default_burst, limiter)
        select i.name, 2147483647, i.rate, i.burst, true
        from unnest(p_names, p_rates, p_bursts) as i (name, rate, burst)
        on conflict (name) do update
            set default_limit = excluded.default_limit, default_rate = excluded.default_rate,
                default_burst = excluded.default_burst, limiter = true,
                changed_at = clock_timestamp()
        returning g.name, g.default_rate, g.default_burst
    )
    select s.name from said s join before b on b.name = s.name
    where (s.default_rate, s.default_burst)
        is distinct from (b.default_rate, b.default_burst);
end
$$;
