-- Replays of dead letters. Whoever replays holds the row: a second caller waits for the first and
-- is told of its job.

-- audit: what operators did, written in the transaction that did it. Nothing is changed in it
-- later, but that the end of an operation fills in what came of it.
create table jobkit.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    actor text,                                  -- as the caller says; null: it did not
    action text not null,
    subject text not null,                       -- what kind of thing, …
    subject_id bigint,                           -- … which one; null: those of `detail`, …
    subject_name text,                           -- … or the one of this name
    detail jsonb
);

-- note: returns the entry. None without an action: the page of an operation, which is noted itself.
create function jobkit.note(
    p_actor text, p_action text, p_subject text, p_subject_id bigint, p_detail jsonb,
    p_subject_name text default null
) returns bigint
language sql as $$
    insert into jobkit.audit (actor, action, subject, subject_id, subject_name, detail)
    select p_actor, p_action, p_subject, p_subject_id, p_subject_name, p_detail
    where p_action is not null returning id
$$;

-- note_jobs: the same of jobs: nothing when there are none.
create function jobkit.note_jobs(
    p_actor text, p_action text, p_jobs bigint[], p_detail jsonb
) returns void
language sql as $$
    select jobkit.note(p_actor, p_action, case when one then 'job' else 'jobs' end,
        case when one then p_jobs[1] end, jsonb_strip_nulls(coalesce(p_detail, '{}')
            || case when one then '{}'
                else jsonb_build_object('count', cardinality(p_jobs), 'ids', p_jobs) end))
    from (select cardinality(p_jobs) = 1 as one) j where p_jobs <> '{}'
$$;

-- replay_open: makes a job of each of these dead letters, which the caller has locked and seen to
-- be open, the one that failed first first. The job has all its attempts again.
--   p_queue, p_run_at, p_args, p_max_attempts  instead of what is stored; null = as stored
--   p_concurrency  {group, key} that belong to p_args; null = as stored
create function jobkit.replay_open(
    p_ids bigint[], p_queue text default null, p_run_at timestamptz default null,
    p_args jsonb default null, p_max_attempts smallint default null,
    p_concurrency text[] default null
) returns table (dead_letter_id bigint, job_id bigint)
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_run_at constant timestamptz := coalesce(p_run_at, v_now);
begin
    return query
    with entry as materialized (
        select nextval('jobkit.jobs_id_seq') as new_id, coalesce(p_queue, d.queue) as to_queue,
            case when p_concurrency is null then d.concurrency_group else p_concurrency[1] end
                as grp,
            case when p_concurrency is null then d.concurrency_key else p_concurrency[2] end
                as ckey, d.*
        from (
            select * from jobkit.dead_letters d where d.id = any (p_ids)
            order by d.failed_at, d.id
        ) d
    ), job as (
        insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
            concurrency_group, concurrency_key, dead_letter_key, dead_letter_id, generation, args,
            tags, metadata)
        select e.new_id, e.kind, e.to_queue, e.priority, coalesce(p_max_attempts, e.max_attempts),
            v_run_at, v_now, e.grp, e.ckey, e.key, e.id, e.generation, coalesce(p_args, e.args),
            e.tags, e.metadata
        from entry e
    ), now_ready as (
        insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group,
            concurrency_key)
        select e.to_queue, e.priority, e.new_id, e.kind, e.grp, e.ckey
        from entry e where v_run_at <= v_now
    ), later as (
        insert into jobkit.scheduled (run_at, job_id)
        select v_run_at, e.new_id from entry e where v_run_at > v_now
    ), replaying as (
        update jobkit.dead_letters d set state = 'replaying', replay_id = e.new_id, replay_at = null
        from entry e where d.id = e.id
    )
    select e.id, e.new_id from entry e;
    perform jobkit.wake(array(
        select distinct coalesce(p_queue, d.queue) from jobkit.dead_letters d
        where d.id = any (p_ids)
    ));
end
$$;

-- replay: replays one dead letter. Waits for whoever holds it, but no longer than a second.
-- outcome: `replay` with the new job; `already` or `resolved` with the job that replays it or did;
-- `missing`.
create function jobkit.replay(
    p_id bigint, p_actor text default null, p_queue text default null,
    p_run_at timestamptz default null, p_args jsonb default null,
    p_max_attempts integer default null, p_concurrency text[] default null,
    out outcome text, out job_id bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_entry record;
begin
    perform jobkit.require_read_committed();
    perform jobkit.require_options(p_queue, null, p_max_attempts, variadic p_concurrency);
    perform jobkit.require_time(p_run_at);
    select d.state, d.replay_id, d.generation into v_entry
    from jobkit.dead_letters d where d.id = p_id for update;
    if not found then
        outcome := 'missing';
    elsif v_entry.state <> 'open' then
        outcome := case v_entry.state when 'replaying' then 'already' else 'resolved' end;
        job_id := v_entry.replay_id;
    else
        outcome := 'replay';
        select r.job_id into job_id from jobkit.replay_open(array[p_id], p_queue, p_run_at,
            p_args, p_max_attempts::smallint, p_concurrency) r;
        perform jobkit.note(p_actor, 'replay', 'dead_letter', p_id, jsonb_strip_nulls(
            jsonb_build_object('job', job_id, 'generation', v_entry.generation, 'queue', p_queue,
                'run_at', p_run_at, 'args', p_args, 'max_attempts', p_max_attempts)));
    end if;
end
$$;

-- dead_letters_after: the dead letters of a state after a place, in the order in which they failed,
-- p_rows at most; of a key, or of a fingerprint when they are open, if one is given. The branches
-- have an index each; one condition for all of them would have none.
create function jobkit.dead_letters_after(
    p_state text, p_key text, p_fingerprint text, p_after_at timestamptz, p_after_id bigint,
    p_until timestamptz, p_rows integer
) returns table (
    id bigint, kind text, queue text, key text, fingerprint text, failed_at timestamptz
)
language sql stable as $$
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is not null and coalesce(d.key, '') = p_key and d.key is not null
            and d.state = p_state and (d.failed_at, d.id) > (p_after_at, p_after_id)
            and d.failed_at <= p_until
        order by d.failed_at, d.id limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and p_fingerprint is not null and p_state = 'open'
            and d.state = 'open' and d.fingerprint = p_fingerprint
            and (d.failed_at, d.id) > (p_after_at, p_after_id) and d.failed_at <= p_until
        order by d.failed_at, d.id limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and (p_fingerprint is null or p_state <> 'open')
            and d.state = p_state
            and (d.failed_at, d.id) > (p_after_at, p_after_id) and d.failed_at <= p_until
        order by d.failed_at, d.id limit p_rows
    )
$$;

-- dead_letters_before: the same, backwards from a place: the newest failure first.
create function jobkit.dead_letters_before(
    p_state text, p_key text, p_fingerprint text, p_before_at timestamptz, p_before_id bigint,
    p_after timestamptz, p_rows integer
) returns table (
    id bigint, kind text, queue text, key text, fingerprint text, failed_at timestamptz
)
language sql stable as $$
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is not null and coalesce(d.key, '') = p_key and d.key is not null
            and d.state = p_state and (d.failed_at, d.id) < (p_before_at, p_before_id)
            and d.failed_at > p_after
        order by d.failed_at desc, d.id desc limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and p_fingerprint is not null and p_state = 'open'
            and d.state = 'open' and d.fingerprint = p_fingerprint
            and (d.failed_at, d.id) < (p_before_at, p_before_id) and d.failed_at > p_after
        order by d.failed_at desc, d.id desc limit p_rows
    )
    union all
    (
        select d.id, d.kind, d.queue, d.key, d.fingerprint, d.failed_at
        from jobkit.dead_letters d
        where p_key is null and (p_fingerprint is null or p_state <> 'open')
            and d.state = p_state
            and (d.failed_at, d.id) < (p_before_at, p_before_id) and d.failed_at > p_after
        order by d.failed_at desc, d.id desc limit p_rows
    )
$$;

-- dead_letters_page: those that a filter means, in the order in which they failed: of the next
-- 10,000 those that fit, p_limit at most, and where the next page begins, null after the last.
-- Planned each time, so that the branches that cannot apply are gone and nothing is sorted.
create function jobkit.dead_letters_page(
    p_state text, p_kind text, p_queue text, p_key text, p_fingerprint text, p_until timestamptz,
    p_after_at timestamptz, p_after_id bigint, p_limit integer,
    out ids bigint[], out last_at timestamptz, out last_id bigint
)
language plpgsql
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
begin
    with page as materialized (
        select l.id, l.failed_at
        from jobkit.dead_letters_after(p_state, p_key, p_fingerprint, p_after_at, p_after_id,
            p_until, 10000) l
        where (p_kind is null or l.kind = p_kind) and (p_queue is null or l.queue = p_queue)
            and (p_fingerprint is null or l.fingerprint = p_fingerprint)
        order by l.failed_at, l.id limit p_limit
    )
    select array(select p.id from page p order by p.failed_at, p.id), e.failed_at, e.id
    into ids, last_at, last_id
    from (select count(*) = p_limit as full from page) f
    left join lateral (
        (
            select p.failed_at, p.id from page p where f.full
            order by p.failed_at desc, p.id desc limit 1
        )
        union all
        (
            select l.failed_at, l.id
            from jobkit.dead_letters_after(p_state, p_key, p_fingerprint, p_after_at, p_after_id,
                p_until, 10000) l
            where not f.full order by l.failed_at, l.id offset 9999
        )
    ) e on true;
end
$$;
