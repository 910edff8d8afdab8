-- What an operator's lists of jobs read.

-- Ended jobs that did not succeed: few beside those that did.
create index finished_discarded on jobkit.finished (job_id) where outcome = 'discard';
create index finished_cancelled on jobkit.finished (job_id) where outcome = 'cancel';

-- hides: whether a path of a payload leads to, into or around one of these redacted paths. Places
-- in arrays do not count: what is hidden is hidden in each element.
create function jobkit.hides(p_redact text[], p_path text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select from unnest(p_redact) as r (path)
        cross join (
            select ltrim(regexp_replace(p_path, '(^|\.)\s*[-+]?\d+(?=\.|$)', '', 'g'), '.')
                || '.' as path
        ) p
        where starts_with(p.path, r.path || '.') or starts_with(r.path || '.', p.path)
            or p.path = '.'
    )
$$;

-- has_args: whether a payload has these values at these paths. Without p_reveal no value counts
-- that its kind redacts, and none of a kind that nobody has announced.
create function jobkit.has_args(
    p_kind text, p_args jsonb, p_paths text[], p_values text[], p_reveal boolean
) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select not exists (
        select from unnest(p_paths, p_values) as w (path, value)
        where (p_args #>> string_to_array(w.path, '.')) is distinct from w.value
            or not p_reveal and coalesce(
                (select jobkit.hides(k.redact, w.path) from jobkit.kinds k where k.kind = p_kind),
                true)
    )
$$;

-- listed_jobs: a live job with its state, which is read by primary keys (one that waits nowhere
-- runs), and the beginning of its last error.
create view jobkit.listed_jobs as
    select j.id, j.kind, j.queue, j.priority, j.attempt, j.max_attempts,
        j.cancel_requested_at is not null as cancel_requested, j.run_at, j.created_at,
        j.concurrency_group, j.concurrency_key, j.tags,
        case
            -- Each in its own probe: one for both could walk the whole priority.
            when exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and r.without_permit and r.job_id = j.id
            ) or exists (
                select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
                    and not r.without_permit and r.job_id = j.id
            ) then 'ready'
            when exists (
                select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id
            ) then 'scheduled'
            when exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = j.concurrency_group
                    and b.concurrency_key = j.concurrency_key
                    and b.priority = j.priority and b.job_id = j.id
            ) then 'blocked' else 'running' end as state,
        (
            select left(a.error, 300) from jobkit.attempts a where a.job_id = j.id
            order by a.attempt desc, a.ended_at desc limit 1
        ) as error
    from jobkit.jobs j;

-- jobs_in: the next live jobs of a listing behind a place, in its order. Each branch has an index,
-- but for running jobs: of `claims`, which is small, every row is looked at. A worker has nothing
-- that waits.
create function jobkit.jobs_in(
    p_listing text, p_place jsonb, p_rows integer, p_queue text, p_group text, p_key text,
    p_worker bigint, p_id bigint
) returns table (id bigint, without_permit boolean, since timestamptz, worker_id bigint)
language sql stable as $$
    (
        select j.id, null::boolean, null::timestamptz, null::bigint from jobkit.jobs j
        where p_listing = 'live' and (p_id is null or j.id = p_id)
            and (p_place is null or j.id < (p_place ->> 0)::bigint)
        order by j.id desc limit p_rows
    ) union all (
        select r.job_id, r.without_permit, null, null from jobkit.ready r
        where p_listing = 'ready' and (p_queue is null or r.queue = p_queue)
            and (p_place is null or (r.queue, r.priority, r.without_permit, r.job_id)
                > (p_place ->> 0, (p_place ->> 1)::smallint, (p_place ->> 2)::boolean,
                    (p_place ->> 3)::bigint))
        order by r.queue, r.priority, r.without_permit, r.job_id limit p_rows
    ) union all (
        select s.job_id, null, null, null from jobkit.scheduled s
        where p_listing = 'scheduled' and (p_place is null or (s.run_at, s.job_id)
                > ((p_place ->> 0)::timestamptz, (p_place ->> 1)::bigint))
        order by s.run_at, s.job_id limit p_rows
    ) union all (
        select s.job_id, null, null, null from jobkit.scheduled s
        where p_listing = 'retrying' and s.retrying and (p_place is null or (s.run_at, s.job_id)
                > ((p_place ->> 0)::timestamptz, (p_place ->> 1)::bigint))
        order by s.run_at, s.job_id limit p_rows
    ) union all (
        select u.id, null, c.claimed_at, c.worker_id
        from jobkit.claims c cross join unnest(c.job_ids) as u (id)
        where p_listing = 'running' and (p_worker is null or c.worker_id = p_worker)
            and (p_place is null or (c.claimed_at, u.id)
                > ((p_place ->> 0)::timestamptz, (p_place ->> 1)::bigint))
        order by c.claimed_at, u.id limit p_rows
    ) union all (
        select b.job_id, null, b.since, null from jobkit.blocked_executions b
        where p_listing = 'blocked' and (p_group is null or b.concurrency_group = p_group)
            and (p_group is null or p_key is null or b.concurrency_key = p_key)
            and (p_place is null
                or (b.concurrency_group, b.concurrency_key, b.priority, b.job_id) > (p_place ->> 0,
                    p_place ->> 1, (p_place ->> 2)::smallint, (p_place ->> 3)::bigint))
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit p_rows
    )
$$;

-- place_in: the place of a job in a listing, behind which the next page begins.
create function jobkit.place_in(
    p_listing text, p_job bigint, p_without_permit boolean, p_since timestamptz
) returns jsonb
language sql stable as $$
    select case p_listing
        when 'ready' then jsonb_build_array(j.queue, j.priority, p_without_permit, j.id)
        when 'scheduled' then jsonb_build_array(j.run_at, j.id)
        when 'retrying' then jsonb_build_array(j.run_at, j.id)
        when 'running' then jsonb_build_array(p_since, j.id)
        when 'blocked' then
            jsonb_build_array(j.concurrency_group, j.concurrency_key, j.priority, j.id)
        else jsonb_build_array(j.id) end
    from jobkit.jobs j where j.id = p_job
$$;

-- ended_in: the same for ended jobs, the newest job first.
create function jobkit.ended_in(
    p_listing text, p_before bigint, p_rows integer, p_id bigint
) returns setof jobkit.finished
language sql stable as $$
    (
        select * from jobkit.finished f
        where p_listing = 'finished' and (p_id is null or f.job_id = p_id)
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    ) union all (
        select * from jobkit.finished f
        where p_listing = 'discarded' and f.outcome = 'discard'
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    ) union all (
        select * from jobkit.finished f
        where p_listing = 'cancelled' and f.outcome = 'cancel'
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    )
$$;

-- timed_errors: failed attempts with their times in microseconds, and the job whose they are.
create function jobkit.timed_errors(p_errors jsonb, p_job bigint) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_agg(jsonb_build_object('job_id', p_job) || e.value || jsonb_build_object(
        'ended_at', (extract(epoch from (e.value ->> 'ended_at')::timestamptz) * 1e6)::bigint,
        'took', (extract(epoch from (e.value ->> 'took')::interval) * 1e6)::bigint
    ) order by e.place), '[]')
    from jsonb_array_elements(coalesce(p_errors, '[]')) with ordinality as e (value, place)
$$;
