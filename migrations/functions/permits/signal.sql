-- signal: takes back the permits of these jobs and locks their semaphores.
--   p_last  none of these jobs asks for a permit again: unused semaphores are deleted at once, and
--           not returned. Whether one is unused is decided on the locked row
-- Returns how many permits each key gave back, and 0 for the keys that the caller names.
-- `grant_permits` must follow.
create or replace function jobkit.signal(
    p_jobs bigint[], inout groups text[] default '{}', inout keys text[] default '{}',
    out freed integer[], p_last boolean default false
)
language plpgsql as $$
declare
    v_unused tid[];
begin
    with gone as (
        delete from jobkit.permits p where p.job_id = any (p_jobs)
        returning p.concurrency_group as grp, p.concurrency_key as key
    )
    select coalesce(array_agg(k.grp) filter (where not locked.unused), '{}'),
        coalesce(array_agg(k.key) filter (where not locked.unused), '{}'),
        coalesce(array_agg(k.n) filter (where not locked.unused), '{}'),
        array_agg(locked.at) filter (where locked.unused)
    into groups, keys, freed, v_unused
    from (
        select u.grp, u.key, sum(u.n)::integer as n
        from (
            select g.grp, g.key, 1 as n from gone g
            union all
            select l.grp, l.key, 0 from unnest(groups, keys) as l (grp, key)
        ) u
        group by 1, 2 order by 2, 1
    ) k
    cross join lateral (
        select s.ctid as at,
            p_last and not s.crowded and s.taken = k.n and s.override_limit is null
                and s.tat is null as unused
        from jobkit.semaphores s
        where s.concurrency_group = k.grp and s.concurrency_key = k.key for update
    ) locked;
    if v_unused is not null then
        delete from jobkit.semaphores s where s.ctid = any (v_unused);
    end if;
end
$$;
