-- Operations: an action on everything that a filter means, done page by page by whichever worker
-- comes first, and resumed by any other after a crash. What is enqueued or fails after the
-- beginning is not meant, so it ends.

create table jobkit.operations (
    id bigint generated always as identity primary key,
    verb text not null check (verb in
        ('cancel', 'discard', 'reschedule', 'replay', 'discard_dead_letters', 'purge')),
    filter jsonb not null,                       -- of jobs or of dead letters
    reason text,                                 -- of a discard
    run_at timestamptz,                          -- of a reschedule; null: at once
    actor text,
    idempotency_key text not null unique check (octet_length(idempotency_key) between 1 and 128),
    state text not null default 'pending'
        check (state in ('pending', 'running', 'done', 'cancelled', 'failed')),
    estimate integer not null,                   -- how many were meant, as far as was counted
    up_to bigint not null,                       -- the last job that is meant
    until timestamptz not null,                  -- the last failure that is meant
    after_id bigint not null default 0,          -- the place where the next page begins
    after_at timestamptz not null default '-infinity',
    batch bigint[] not null default '{}',        -- jobs of the page in hand
    tries integer not null default 0,            -- how often it was tried
    done bigint not null default 0,
    skipped bigint not null default 0,
    error text,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    ended_at timestamptz
);
create index operations_open on jobkit.operations (id) where state in ('pending', 'running');

-- What did not go as asked: the first 1,000 of an operation.
create table jobkit.operation_results (
    operation_id bigint not null references jobkit.operations on delete cascade,
    subject_id bigint not null,                  -- job or dead letter
    outcome text not null,
    primary key (operation_id, subject_id)
);

-- operation_begin: makes an operation, or finds the one that has this key. Operations that ended
-- 90 days ago are forgotten.
create function jobkit.operation_begin(
    p_verb text, p_filter jsonb, p_reason text, p_run_at timestamptz, p_estimate integer,
    p_until timestamptz, p_key text, p_actor text, out operation bigint, out begun boolean
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
    insert into jobkit.operations (verb, filter, reason, run_at, estimate, up_to, until, after_id,
        after_at, idempotency_key, actor)
    values (p_verb, p_filter, p_reason, p_run_at, p_estimate,
        coalesce((select max(j.id) from jobkit.jobs j), 0), p_until,
        case when p_filter ? 'failed_after' then 9223372036854775807 else -9223372036854775808 end,
        coalesce((p_filter ->> 'failed_after')::timestamptz, '-infinity'), p_key, p_actor)
    on conflict (idempotency_key) do nothing
    returning id into operation;
    begun := found;
    if begun then
        perform jobkit.note(p_actor, 'begin', 'operation', operation,
            jsonb_build_object('verb', p_verb, 'filter', p_filter, 'estimate', p_estimate));
    else
        select o.id into operation from jobkit.operations o where o.idempotency_key = p_key;
    end if;
end
$$;

-- operation_end: an operation ends: as done, cancelled or failed. The caller holds its row.
create function jobkit.operation_end(
    p_id bigint, p_state text, p_error text, p_actor text
) returns void
language plpgsql as $$
declare
    v_ended jobkit.operations;
begin
    update jobkit.operations o set state = p_state, error = p_error, batch = '{}',
        ended_at = clock_timestamp()
    where o.id = p_id returning * into v_ended;
    perform jobkit.note(p_actor, case p_state when 'cancelled' then 'cancel' else 'end' end,
        'operation', p_id, jsonb_strip_nulls(jsonb_build_object('verb', v_ended.verb, 'state',
            p_state, 'done', v_ended.done, 'skipped', v_ended.skipped, 'error', p_error)));
end
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
    where o.id = p_id and o.state in ('pending', 'running') for update;
    if not found then
        return false;
    end if;
    perform jobkit.operation_end(p_id, p_state, p_error, p_actor);
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
        select j.* from jobkit.listed_jobs j
        where j.id > p_after and j.id <= p_up_to order by j.id limit 2000
    ), page as materialized (
        select l.id from looked_at l
        where (p_filter ->> 'kind' is null or l.kind = p_filter ->> 'kind')
            and (p_filter ->> 'queue' is null or l.queue = p_filter ->> 'queue')
            and (p_filter ->> 'group' is null or l.concurrency_group = p_filter ->> 'group')
            and (p_filter ->> 'key' is null or l.concurrency_key = p_filter ->> 'key')
            and (p_filter ->> 'tag' is null or p_filter ->> 'tag' = any (l.tags))
            and (p_filter ->> 'id' is null or l.id = (p_filter ->> 'id')::bigint)
            and case p_filter ->> 'listing' when 'live' then true
                when 'retrying' then l.state = 'scheduled' and l.attempt > 0
                else l.state = p_filter ->> 'listing' end
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
