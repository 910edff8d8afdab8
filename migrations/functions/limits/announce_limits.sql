-- Limits are data. A change locks the table, so that no permit granted under the old limit commits
-- after it. After raising a limit, the caller runs a `sweep` for blocked jobs. Lowering it takes no
-- permit away: no more are granted until fewer are taken.

-- announce_limits: records the limits in a worker's code; the last start wins. Returns what
-- changed, and locks nothing if nothing did.
--   p_said  [{"scope": "group", "name": "pay", "running": 2, "every": "1 s", "burst": 1}, …], and
--           `waiting` of a queue; parts that are left out are not limited by the code
-- Refuses a limiter that has the name of a group whose keys jobs use. Otherwise a group becomes a
-- limiter, or a limiter a group.
create or replace function jobkit.announce_limits(p_said jsonb)
returns table (scope text, name text, before jsonb, after jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform jobkit.require_read_committed();
    perform jobkit.refuse('the limiter ' || k.concurrency_group
        || ' has the same name as a concurrency group: rename one of them')
    from jsonb_populate_recordset(null::jobkit.limits, p_said) i
    join jobkit.kinds k on k.concurrency_group = i.name where i.scope = 'limiter';
    if not exists (
        select from jsonb_populate_recordset(null::jobkit.limits, p_said) i
        left join jobkit.limits l on l.scope = i.scope and l.name = i.name
        where l.name is null or (l.code_running, l.code_every, l.code_burst, l.code_waiting)
            is distinct from (i.running, i.every, i.burst, i.waiting)
    ) then
        return;
    end if;
    lock table jobkit.limits in exclusive mode;
    update jobkit.limits l set scope = i.scope
    from jsonb_populate_recordset(null::jobkit.limits, p_said) i
    where l.name = i.name and i.scope in ('group', 'limiter')
        and l.scope in ('group', 'limiter') and l.scope <> i.scope;
    return query
    with old as materialized (
        select l.* from jobkit.limits l
    ), changed as (
        insert into jobkit.limits as l (scope, name, code_running, code_every, code_burst,
            code_waiting)
        select distinct on (i.scope, i.name) i.scope, i.name, i.running, i.every, i.burst,
            i.waiting
        from jsonb_populate_recordset(null::jobkit.limits, p_said) i
        on conflict on constraint limits_pkey do update
            set code_running = excluded.code_running, code_every = excluded.code_every,
                code_burst = excluded.code_burst, code_waiting = excluded.code_waiting,
                changed_at = clock_timestamp()
            where (l.code_running, l.code_every, l.code_burst, l.code_waiting) is distinct from
                (excluded.code_running, excluded.code_every, excluded.code_burst,
                excluded.code_waiting)
        returning l.*
    )
    select c.scope, c.name,
        case when o.name is not null then jobkit.said(
            o.code_running, o.code_every, o.code_burst, o.code_waiting) end,
        jobkit.said(c.code_running, c.code_every, c.code_burst, c.code_waiting)
    from changed c left join old o on o.scope = c.scope and o.name = c.name;
    perform jobkit.fit_limits();
end
$$;
