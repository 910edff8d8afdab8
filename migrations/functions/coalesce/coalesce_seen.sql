-- coalesce_seen: the jobs to consider when a claim picked some that coalesce.
--   p_ids    the jobs that the claim picked
--   p_keyed  true: only those with a concurrency key; false: only those without
--   p_kinds  the kinds that the worker knows and that nothing holds back
-- Returns these jobs and the newest other jobs of their keys (1,000 in all, and 16 more of each
-- key):
--   newest   the newest job of the key that waits and is due, even if another session holds it
--   instead  for an older job, the job that runs instead: newest, or one claimed before
--   place    picked, ready or scheduled; or elsewhere: running, blocked, or with a permit
--   fits     it is the newest and may begin: all jobs of the key were seen, and its kind is in
--            p_kinds or that of a picked job
-- Which jobs belong to a key, and which take part: docs/decisions/0019-coalesce.md.
create or replace function jobkit.coalesce_seen(p_ids bigint[], p_keyed boolean, p_kinds text[])
returns table (id bigint, newest bigint, instead bigint, place text, fits boolean)
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
begin
    return query
    with picked as materialized (
        select j.* from jobkit.jobs j
        where j.id = any (p_ids) and j.unique_while = 'coalesce' and j.cancel_requested_at is null
            and (j.concurrency_key is not null) = p_keyed
    ), keys as materialized (
        select row_number() over () as k, 16 + 1000 / count(*) over () as share, d.*
        from (
            select distinct p.unique_scope, p.unique_key, p.queue, p.concurrency_group,
                p.concurrency_key
            from picked p
        ) d
    ), others as (
        select k.k, o.*, count(*) over (partition by k.k) = k.share as more
        from keys k
        cross join lateral (
            select j.id, j.coalesced_by, p.place <> 'scheduled' or j.run_at <= v_now as due,
                jobkit.versioned(j.kind, j.version) = any (p_kinds) or exists (
                    select from picked c
                    where c.unique_scope = k.unique_scope and c.unique_key = k.unique_key
                        and c.kind = j.kind and c.version is not distinct from j.version
                ) as known, p.place
            from jobkit.jobs j
            cross join lateral (
                select case when exists (
                        select from jobkit.ready r where r.queue = j.queue
                            and r.priority = j.priority and r.without_permit and r.job_id = j.id
                    ) then 'ready'
                    when exists (
                        select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
                    ) then 'scheduled' else 'elsewhere' end as place offset 0
            ) p
            where j.unique_scope = k.unique_scope and j.unique_key = k.unique_key
                and j.unique_while = 'coalesce' and j.queue = k.queue
                and (j.concurrency_group, j.concurrency_key)
                    is not distinct from (k.concurrency_group, k.concurrency_key)
                and j.cancel_requested_at is null
                and (j.run_at <= v_now or j.attempt + j.snoozes > 0 or p.place <> 'scheduled')
                and not j.id = any (p_ids)
            order by j.id desc limit k.share
        ) o
    ), every as (
        select o.k, o.id, o.coalesced_by, o.due, o.known, o.place, o.more from others o
        union all
        select k.k, p.id, p.coalesced_by, true, true, 'picked', false
        from picked p join keys k on k.unique_scope = p.unique_scope
            and k.unique_key = p.unique_key and k.queue = p.queue
            and (k.concurrency_group, k.concurrency_key)
                is not distinct from (p.concurrency_group, p.concurrency_key)
    ), judged as (
        select e.*, max(e.id) filter (
                where e.coalesced_by is null and e.place <> 'elsewhere' and e.due
            ) over w as newest, bool_or(e.more) over w as any_more
        from every e window w as (partition by e.k)
    )
    select j.id, j.newest, case when j.coalesced_by is not null and j.place <> 'elsewhere'
            then j.coalesced_by when j.id < j.newest then j.newest end,
        j.place, j.id = j.newest and j.known and not j.any_more
    from judged j;
end
$$;
