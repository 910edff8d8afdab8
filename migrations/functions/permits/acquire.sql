-- acquire: locks the semaphores of these jobs' keys, missing ones are made, and gives permits at
-- once where nothing is blocked and all these jobs of the key can have one. Returns the others, and
-- their keys. The condition is judged on the row as it is when the lock is had, and the limits of
-- groups stand still behind `decide_lock`. Writing a key column makes it the lock of FOR UPDATE.
-- Nothing at once where a rate decides as well (an override or a pause of a key makes it crowded).
-- Joins of keys that hash: any other plan would compare each with each.
create or replace function jobkit.acquire(
    p_jobs bigint[], out jobs bigint[], out groups text[], out keys text[]
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_nestloop = off
set enable_mergejoin = off
as $$
begin
    with asking as materialized (
        select j.id, j.concurrency_group as grp, j.concurrency_key as key
        from jobkit.jobs j where j.id = any (p_jobs)
    ), lim as materialized (
        select g.name, case when coalesce(g.override_rate, g.default_rate) > '0' then 0
            else coalesce(g.override_limit, g.default_limit) end as n
        from jobkit.concurrency_groups g
    ), demand as materialized (
        select a.grp, a.key, case when count(*) <= coalesce(min(l.n), 1) then count(*) else 0 end
            as n
        from asking a left join lim l on l.name = a.grp
        group by a.grp, a.key
    ), semaphore as (
        insert into jobkit.semaphores as s (concurrency_group, concurrency_key, taken)
        select d.grp, d.key, d.n from demand d order by 2, 1
        on conflict (concurrency_group, concurrency_key) do update
            set concurrency_key = excluded.concurrency_key, taken = s.taken + excluded.taken
            where not s.crowded and excluded.taken > 0 and s.taken + excluded.taken <= coalesce(
                s.override_limit, (select l.n from lim l where l.name = s.concurrency_group), 1)
        returning s.concurrency_group as grp, s.concurrency_key as key, s.taken
    ), permit as (
        insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
        select a.id, a.grp, a.key
        from asking a join semaphore s on s.grp = a.grp and s.key = a.key where s.taken > 0
        returning job_id
    ), denied as materialized (
        select a.id, a.grp, a.key from asking a
        where (select count(*) from permit) < cardinality(p_jobs)
            and not exists (select from permit p where p.job_id = a.id)
    ), denied_key as materialized (
        select distinct d.grp, d.key from denied d
    )
    select array(select d.id from denied d), array(select k.grp from denied_key k),
        array(select k.key from denied_key k)
    into jobs, groups, keys;
end
$$;
