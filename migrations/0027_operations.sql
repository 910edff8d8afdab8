-- Operations: an action on everything that a filter means, done page by page by whichever worker
-- comes first, and resumed by any other after a crash. It ends, since it means jobs up to the
-- highest id that is there at the beginning, and dead letters that failed by then. An id is given
-- out by the enqueue, before its transaction commits: a job with a lower id whose transaction is
-- open at the beginning is meant, if it commits before its page is done.

create table jobkit.operations (
    id bigint generated always as identity primary key,
    verb text not null check (verb in
        ('cancel', 'discard', 'reschedule', 'replay', 'discard_dead_letters', 'purge')),
    filter jsonb not null,                       -- of jobs or of dead letters
    reason text,                                 -- why; ended jobs have it in the history
    run_at timestamptz,                          -- of a reschedule; null: at once
    actor text,
    idempotency_key text not null unique check (octet_length(idempotency_key) between 1 and 128),
    state text not null default 'pending'
        check (state in ('pending', 'counting', 'running', 'done', 'cancelled', 'failed')),
    total bigint,                                -- how many are meant; null: not counted to the end
    counted bigint not null default 0,           -- how many of these have been counted
    up_to bigint not null,                       -- the last job that is meant
    until timestamptz not null,                  -- the last failure that is meant
    after_id bigint not null default 0,          -- the place where the next page begins
    after_at timestamptz not null default '-infinity',
    batch bigint[] not null default '{}',        -- jobs of the page in hand
    tries integer not null default 0,            -- how often it was tried
    done bigint not null default 0,
    asked bigint not null default 0,             -- of these, the running: asked to stop
    skipped bigint not null default 0,
    error text,
    audit_id bigint,                             -- the entry of its beginning
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    stepped_at timestamptz,                      -- when it last got further
    ended_at timestamptz
);
create index operations_open on jobkit.operations (id) where ended_at is null;

-- What did not go as asked: the first 1,000 of an operation.
create table jobkit.operation_results (
    operation_id bigint not null references jobkit.operations on delete cascade,
    subject_id bigint not null,                  -- job or dead letter
    outcome text not null,
    primary key (operation_id, subject_id)
);

-- place_before: the place before the first page of a filter.
create function jobkit.place_before(p_filter jsonb, out at timestamptz, out id bigint)
language sql stable as $$
    select coalesce((p_filter ->> 'failed_after')::timestamptz, '-infinity'),
        case when p_filter ? 'failed_after' then 9223372036854775807
            else -9223372036854775808 end
$$;

-- operation_begin: makes an operation, or finds the one that has this key. Operations that ended
-- 90 days ago are forgotten.
--   p_number, p_more  how many are meant, as far as was looked; whether there may be more
create function jobkit.operation_begin(
    p_verb text, p_filter jsonb, p_reason text, p_run_at timestamptz, p_number bigint,
    p_more boolean, p_until timestamptz, p_key text, p_actor text,
    p_per_second integer default null, out operation bigint, out begun boolean
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    perform jobkit.require_time(p_run_at);
    delete from jobkit.operations o where o.id = any (array(
        select d.id from jobkit.operations d
        where d.ended_at < clock_timestamp() - interval '90 days'
        order by d.id limit 100 for update skip locked
    ));
    insert into jobkit.operations (verb, filter, reason, run_at, total, counted, up_to, until,
        after_id, after_at, idempotency_key, actor, per_second)
    select p_verb, p_filter, p_reason, p_run_at, case when not p_more then p_number end,
        case when p_more then 0 else p_number end,
        coalesce((select max(j.id) from jobkit.jobs j), 0), p_until, b.id, b.at, p_key, p_actor,
        p_per_second
    from jobkit.place_before(p_filter) b
    on conflict (idempotency_key) do nothing
    returning id into operation;
    begun := found;
    if begun then
        update jobkit.operations o
        set audit_id = jobkit.note(p_actor, 'begin', 'operation', operation, jsonb_strip_nulls(
            jsonb_build_object('verb', p_verb, 'filter', p_filter, 'reason', p_reason,
                'per_second', p_per_second,
                case when p_more then 'more_than' else 'total' end, p_number)))
        where o.id = operation;
    else
        select o.id into operation from jobkit.operations o where o.idempotency_key = p_key;
    end if;
end
$$;

-- operation_end: an operation ends: as done, cancelled or failed. What came of it is filled in
-- where its beginning was noted. The caller holds its row.
create function jobkit.operation_end(p_id bigint, p_state text, p_error text) returns void
language sql as $$
    with ended as (
        update jobkit.operations o set state = p_state, error = p_error, batch = '{}',
            ended_at = clock_timestamp()
        where o.id = p_id returning *
    )
    update jobkit.audit a set detail = a.detail || jsonb_strip_nulls(jsonb_build_object(
        'state', e.state, 'total', e.total, 'done', e.done, 'asked', e.asked,
        'skipped', e.skipped, 'error', e.error))
    from ended e where a.id = e.audit_id
$$;

-- operation_stop: ends one that is open, as cancelled or failed, after the page that may be in
-- somebody's hands. What is done stays done. Whether it was open.
create function jobkit.operation_stop(
    p_id bigint, p_state text, p_error text, p_actor text
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '4s'
as $$
begin
    perform jobkit.require_read_committed();
    perform from jobkit.operations o
    where o.id = p_id and o.ended_at is null for update;
    if not found then
        return false;
    end if;
    if p_state = 'cancelled' then
        perform jobkit.note(p_actor, 'cancel', 'operation', p_id, '{}');
    end if;
    perform jobkit.operation_end(p_id, p_state, p_error);
    return true;
end
$$;

-- jobs_meant: the live jobs of a filter, in the order of their ids: of the next 2,000 those that
-- fit, p_rows at most, and the job after which the next page begins, null after the last.
create function jobkit.jobs_meant(
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

-- operation_took: counts a page, and remembers what of it did not go as asked.
create function jobkit.operation_took(
    p_id bigint, p_done integer, p_skipped bigint[], p_outcomes text[]
) returns void
language sql as $$
    insert into jobkit.operation_results (operation_id, subject_id, outcome)
    select p_id, s.subject, s.outcome from unnest(p_skipped, p_outcomes) as s (subject, outcome)
    where (select count(*) from jobkit.operation_results r where r.operation_id = p_id) < 1000
    limit 1000 on conflict do nothing;
    update jobkit.operations o set done = o.done + p_done,
        skipped = o.skipped + coalesce(cardinality(p_skipped), 0)
    where o.id = p_id
$$;

-- ids_meant: the jobs or dead letters that were selected one by one, in the order of their ids,
-- p_rows at most, and the last of them, null when none is left.
create function jobkit.ids_meant(
    p_operation jobkit.operations, p_rows integer, out ids bigint[], out last bigint
)
language sql stable as $$
    with page as materialized (
        select distinct i.id::bigint as id
        from jsonb_array_elements_text(p_operation.filter -> 'ids') as i (id)
        where i.id::bigint > p_operation.after_id order by 1 limit p_rows
    )
    select array(select p.id from page p order by p.id), (select max(p.id) from page p)
$$;

-- jobs_to_do: the jobs of a page, and the job after which the next begins, null after the last. Of
-- selected ones those that have ended are told of here.
create function jobkit.jobs_to_do(
    p_operation jobkit.operations, p_rows integer, out jobs bigint[], out last bigint
)
language plpgsql as $$
declare
    v_gone bigint[];
begin
    if not p_operation.filter ? 'ids' then
        select m.jobs, m.last into jobs, last from jobkit.jobs_meant(p_operation.filter,
            p_operation.after_id, p_operation.up_to, p_rows) m;
        return;
    end if;
    select i.ids, i.last into jobs, last from jobkit.ids_meant(p_operation, p_rows) i;
    v_gone := array(
        select unnest(jobs) except select j.id from jobkit.jobs j where j.id = any (jobs)
    );
    perform jobkit.operation_took(p_operation.id, 0, v_gone,
        array_fill('ended by itself'::text, array[cardinality(v_gone)]));
    jobs := array(select unnest(jobs) except select unnest(v_gone) order by 1);
end
$$;
