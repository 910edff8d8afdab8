-- matching_jobs: the jobs that a filter (`JobQuery`) matches, for lists, counts and operations.
--   p_window, p_rows  how many to look at after a place (`jobs_in`, `ended_in`), and to return at
--                     most
-- Returns them in the order of the listing. `all` covers live jobs by id, after the first id of the
-- place up to the second. Each row says how many match of how many were looked at, and where the
-- next page begins: after the last job of a full page, otherwise after the last one looked at; null
-- if there are no more. If none matches, it returns one row without a job.
-- It must be planned for its filter: conditions that the filter lacks are removed.
create or replace function jobkit.matching_jobs(
    p_filter jsonb, p_listing text, p_place jsonb, p_window integer, p_rows integer
) returns table (
    matching bigint, looked_at bigint, next jsonb, nth bigint, id bigint, expires_at timestamptz,
    worker_id bigint, since timestamptz
)
language sql stable as $$
    with looked_at as materialized (
        select row_number() over () as nth, l.id, l.expires_at, l.without_permit, l.since,
            l.worker_id,
            (p_filter ->> 'kind' is null or l.kind = p_filter ->> 'kind')
            and (p_filter ->> 'queue' is null or l.queue = p_filter ->> 'queue')
            and (p_filter ->> 'tag' is null or p_filter ->> 'tag' = any (l.tags))
            and (p_filter ->> 'group' is null or l.concurrency_group = p_filter ->> 'group')
            and (p_filter ->> 'key' is null or l.concurrency_key = p_filter ->> 'key')
            and (p_filter ->> 'id' is null or l.id = (p_filter ->> 'id')::bigint)
            and (p_filter ->> 'batch' is null or l.batch_id = (p_filter ->> 'batch')::bigint)
            and (p_filter ->> 'ended' is null or l.outcome = p_filter ->> 'ended')
            and (p_filter ->> 'worker' is null or (p_filter ->> 'worker')::bigint = coalesce(
                l.worker_id,
                (select c.worker_id from jobkit.claims c where l.id = any (c.job_ids))))
            and (p_filter ->> 'error' is null or exists (
                select from (
                    select a.error from jobkit.attempts a where a.job_id = l.id
                    union all select l.reason
                    union all select e.value ->> 'error' from jsonb_array_elements(l.errors) e
                ) e where position(lower(p_filter ->> 'error') in lower(e.error)) > 0))
            and (jsonb_array_length(p_filter -> 'paths') = 0 or jobkit.has_args(l.kind, l.args,
                array(select jsonb_array_elements_text(p_filter -> 'paths')),
                array(select jsonb_array_elements_text(p_filter -> 'values')),
                (p_filter ->> 'reveal')::boolean))
            -- A listing has no other jobs. By id, only for those that match otherwise.
            and (p_listing <> 'all' or p_filter ->> 'listing' = 'live' or (
                select case p_filter ->> 'listing'
                    when 'retrying' then s.state = 'scheduled' and s.attempt > 0
                    else s.state = p_filter ->> 'listing' end
                from jobkit.listed_jobs s where s.id = l.id)) as matches
        from (
            select i.*, j.kind, j.queue, j.tags, j.concurrency_group, j.concurrency_key, j.args,
                null::timestamptz as expires_at, null as reason, null::jsonb as errors,
                null as outcome, j.batch_id
            from jobkit.jobs_in(p_listing, p_place, p_window, p_filter ->> 'queue',
                p_filter ->> 'group', p_filter ->> 'key', (p_filter ->> 'worker')::bigint,
                (p_filter ->> 'id')::bigint, (p_filter ->> 'batch')::bigint) i
            cross join lateral (select * from jobkit.shown_jobs j where j.id = i.id offset 0) j
            union all (
                select j.id, null, null, null, j.kind, j.queue, j.tags, j.concurrency_group,
                    j.concurrency_key, j.args, null, null, null, null, j.batch_id
                from jobkit.shown_jobs j
                where p_listing = 'all' and j.id > (p_place ->> 0)::bigint
                    and (p_filter ->> 'batch' is null
                        or j.batch_id = (p_filter ->> 'batch')::bigint)
                    and j.id <= (p_place ->> 1)::bigint
                order by j.id limit p_window
            )
            union all
            select f.job_id, null, null, f.worker_id, f.kind, f.queue, f.tags, f.concurrency_group,
                f.concurrency_key, f.args, f.expires_at, f.reason, f.errors, f.outcome, f.batch_id
            from jobkit.ended_in(p_listing,
                -- Places in other listings begin with other fields.
                case when p_listing in ('finished', 'discarded', 'cancelled')
                    then (p_place ->> 0)::bigint end,
                p_window, (p_filter ->> 'id')::bigint, (p_filter ->> 'batch')::bigint) f
        ) l
    ), page as materialized (
        -- They are in order already; a sort would read past the end of a full page.
        select * from looked_at l where l.matches limit p_rows
    )
    select (select count(*) from looked_at l where l.matches), (select count(*) from looked_at l),
        e.next, p.nth, p.id, p.expires_at, p.worker_id, p.since
    from (select case when count(*) = p_rows then max(p.nth) else p_window end as nth from page p) n
    left join lateral (
        select jobkit.place_in(p_listing, l.id, l.without_permit, l.since) as next
        from looked_at l where l.nth = n.nth limit 1
    ) e on true
    left join page p on true
$$;
