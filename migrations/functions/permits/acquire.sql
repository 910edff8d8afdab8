-- acquire: locks the semaphores of these jobs, creating missing ones, and gives permits at once for
-- keys where nothing is blocked and all of these jobs fit. Never at once for keys with a rate; an
-- override or a pause of a key makes it crowded.
-- Returns the other jobs and their keys.
-- It evaluates the row after locking it, and `decide_lock` keeps the limits of groups unchanged.
-- Writing a key column makes this a FOR UPDATE lock. It must be planned with hash joins: any other
-- plan would compare every row with every other.
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
        select g.name, case when coalesce(g.every, g.code_every) > '0' then 0
            else coalesce(g.running, g.code_running, 1) end as n
        from jobkit.limits g where g.scope = 'group'
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
