-- matching_jobs: the live jobs of a filter, in the order of their ids: of the next 2,000 those that
-- fit, p_rows at most, and the job after which the next page begins, null after the last.
create or replace function jobkit.matching_jobs(
    p_filter jsonb, p_after bigint, p_up_to bigint, p_rows integer,
    out jobs bigint[], out last bigint
)
language sql stable as $$
    with looked_at as materialized (
        select j.id, j.kind, j.queue, j.concurrency_group, j.concurrency_key, j.tags
        from jobkit.jobs j
        where j.id > p_after and j.id <= p_up_to order by j.id limit 2000
    ), page as materialized (
        select l.id from looked_at l
        cross join lateral (
            -- By its id, for those alone that fit otherwise.
            select s.state, s.attempt from jobkit.listed_jobs s where s.id = l.id offset 0
        ) s
        where (p_filter ->> 'kind' is null or l.kind = p_filter ->> 'kind')
            and (p_filter ->> 'queue' is null or l.queue = p_filter ->> 'queue')
            and (p_filter ->> 'group' is null or l.concurrency_group = p_filter ->> 'group')
            and (p_filter ->> 'key' is null or l.concurrency_key = p_filter ->> 'key')
            and (p_filter ->> 'tag' is null or p_filter ->> 'tag' = any (l.tags))
            and (p_filter ->> 'id' is null or l.id = (p_filter ->> 'id')::bigint)
            and case p_filter ->> 'listing' when 'live' then true
                when 'retrying' then s.state = 'scheduled' and s.attempt > 0
                else s.state = p_filter ->> 'listing' end
            and (p_filter ->> 'worker' is null or exists (
                select from jobkit.claims c where l.id = any (c.job_ids)
                    and c.worker_id = (p_filter ->> 'worker')::bigint))
            and (p_filter ->> 'error' is null or exists (
                select from jobkit.attempts a where a.job_id = l.id
                    and position(lower(p_filter ->> 'error') in lower(a.error)) > 0))
            and (jsonb_array_length(p_filter -> 'paths') = 0 or jobkit.has_args(l.kind,
                (select j.args from jobkit.jobs j where j.id = l.id),
                array(select jsonb_array_elements_text(p_filter -> 'paths')),
                array(select jsonb_array_elements_text(p_filter -> 'values')),
                (p_filter ->> 'reveal')::boolean))
        order by l.id limit p_rows
    )
    select array(select p.id from page p order by p.id),
        case when (select count(*) from page) = p_rows then (select max(p.id) from page p)
            when (select count(*) from looked_at) = 2000 then (select max(l.id) from looked_at l)
        end
$$;
