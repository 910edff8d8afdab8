-- Limits are data. A change of a group's limit holds the table, so that no permit granted under the
-- old limit commits after it; whoever raised one has blocked jobs looked after (`sweep`). A lowered
-- limit takes no permit away: the next are granted once fewer are taken.

-- announce_limits: what a worker's binary says of its groups; the last start wins. Returns what
-- changed. Nothing is locked when nothing does.
create function jobkit.announce_limits(p_groups text[], p_limits integer[])
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

-- limit_group: an operator's limit for every key of a group, whatever workers say; null gives it
-- back to them. False when no worker has announced the group.
create function jobkit.limit_group(
    p_group text, p_limit integer, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_before integer;
begin
    perform jobkit.require_read_committed();
    lock table jobkit.concurrency_groups in exclusive mode;
    select g.override_limit into v_before from jobkit.concurrency_groups g where g.name = p_group;
    if not found then
        return false;
    end if;
    update jobkit.concurrency_groups g
    set override_limit = p_limit, changed_at = clock_timestamp()
    where g.name = p_group;
    perform jobkit.note(p_actor, 'limit', 'concurrency_group', null,
        jsonb_build_object('limit', p_limit, 'before', v_before), p_group);
    return true;
end
$$;

-- limit_key: an operator's limit for one key; null gives it back to its group. What it frees is
-- granted at once, up to what a key gives in one transaction; the rest is the next sweep's, to
-- which the note of the group explains it. False when no worker has announced the group.
create function jobkit.limit_key(
    p_group text, p_key text, p_limit integer, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_before integer;
begin
    perform jobkit.gate();
    if not exists (select from jobkit.concurrency_groups g where g.name = p_group) then
        return false;
    end if;
    perform jobkit.create_semaphores(array[p_group], array[p_key]);
    select s.override_limit into v_before from jobkit.semaphores s
    where s.concurrency_group = p_group and s.concurrency_key = p_key;
    update jobkit.semaphores s set override_limit = p_limit
    where s.concurrency_group = p_group and s.concurrency_key = p_key;
    perform jobkit.note(p_actor, 'limit', 'concurrency_key', null, jsonb_build_object(
        'group', p_group, 'limit', p_limit, 'before', v_before), p_key);
    if jobkit.fill_and_wake(array[p_group], array[p_key], null) >= 1000 then
        update jobkit.concurrency_groups g set changed_at = clock_timestamp()
        where g.name = p_group;
    end if;
    return true;
end
$$;
