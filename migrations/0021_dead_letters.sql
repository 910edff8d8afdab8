-- Many dead letters at once, page by page: each call is one short transaction, and takes of its
-- page what nobody else holds. And what operators call in psql.

-- replay_page: replays the open ones of a page (see `dead_letters_page`), in the order in which
-- they failed. Skipped: those of the page (ids) that are in other hands, or open no more.
create function jobkit.replay_page(
    p_kind text, p_queue text, p_key text, p_fingerprint text, p_until timestamptz,
    p_after_at timestamptz, p_after_id bigint, p_limit integer, p_actor text,
    p_action text default 'replay',
    out replayed integer, out skipped integer, out last_at timestamptz, out last_id bigint,
    out ids bigint[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_page record;
    v_open bigint[];
begin
    perform jobkit.require_read_committed();
    select * into v_page from jobkit.dead_letters_page('open', p_kind, p_queue, p_key,
        p_fingerprint, p_until, p_after_at, p_after_id, p_limit);
    v_open := array(
        select d.id from jobkit.dead_letters d
        where d.id = any (v_page.ids) and d.state = 'open' and d.failed_at <= p_until
        order by d.failed_at, d.id for update skip locked
    );
    replayed := cardinality(v_open);
    skipped := cardinality(v_page.ids) - replayed;
    last_at := v_page.last_at;
    last_id := v_page.last_id;
    ids := v_page.ids;
    if replayed > 0 then
        perform from jobkit.replay_open(v_open);
        perform jobkit.note(p_actor, p_action, 'dead_letters', null, jsonb_build_object(
            'count', replayed, 'first', v_open[1], 'last', v_open[replayed],
            'filter', jsonb_strip_nulls(jsonb_build_object('kind', p_kind, 'queue', p_queue,
                'key', p_key, 'fingerprint', p_fingerprint, 'until', p_until))));
    end if;
end
$$;

-- replay_due: replays by itself what its kind says (auto_replay, max_cycles). Returns how many.
create function jobkit.replay_due(p_limit integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    -- A constant: compared with a volatile function all that are open would be read.
    v_now constant timestamptz := clock_timestamp();
    v_due bigint[];
begin
    perform jobkit.require_read_committed();
    v_due := array(
        select d.id from jobkit.dead_letters d
        where d.state = 'open' and d.replay_at <= v_now
        order by d.replay_at, d.id limit p_limit for update skip locked
    );
    if v_due <> '{}' then
        perform from jobkit.replay_open(v_due);
    end if;
    return cardinality(v_due);
end
$$;

-- discard_dead_letter: removes one for good. outcome: `discard`, `replaying` (nothing was done) or
-- `missing`.
create function jobkit.discard_dead_letter(p_id bigint, p_actor text, out outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_entry jobkit.dead_letters;
begin
    perform jobkit.require_read_committed();
    select * into v_entry from jobkit.dead_letters d where d.id = p_id for update;
    if not found then
        outcome := 'missing';
    elsif v_entry.state = 'replaying' then
        outcome := 'replaying';
    else
        outcome := 'discard';
        delete from jobkit.dead_letters d where d.id = p_id;
        perform jobkit.note(p_actor, 'discard', 'dead_letter', p_id, jsonb_build_object(
            'kind', v_entry.kind, 'key', v_entry.key, 'cycles', v_entry.cycles,
            'error', v_entry.error, 'args', v_entry.args));
    end if;
end
$$;

-- discard_page: removes those of a page that are open, or resolved (p_state); never one that is
-- replaying, nor one that failed again meanwhile.
create function jobkit.discard_page(
    p_state text, p_kind text, p_queue text, p_key text, p_fingerprint text,
    p_until timestamptz, p_after_at timestamptz, p_after_id bigint, p_limit integer,
    p_actor text, p_action text,
    out discarded integer, out skipped integer, out last_at timestamptz, out last_id bigint,
    out ids bigint[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_page record;
    v_gone bigint[];
begin
    perform jobkit.require_read_committed();
    if p_state not in ('open', 'resolved') then
        raise exception 'jobkit: what is % cannot be discarded', p_state using errcode = 'JK007';
    end if;
    select * into v_page from jobkit.dead_letters_page(p_state, p_kind, p_queue, p_key,
        p_fingerprint, p_until, p_after_at, p_after_id, p_limit);
    with gone as (
        delete from jobkit.dead_letters d
        where d.id = any (array(
            select l.id from jobkit.dead_letters l
            where l.id = any (v_page.ids) and l.state = p_state and l.failed_at <= p_until
            order by l.failed_at, l.id for update skip locked
        ))
        returning d.id
    )
    select coalesce(array_agg(g.id order by g.id), '{}') into v_gone from gone g;
    discarded := cardinality(v_gone);
    skipped := cardinality(v_page.ids) - discarded;
    last_at := v_page.last_at;
    last_id := v_page.last_id;
    ids := v_page.ids;
    if discarded > 0 then
        perform jobkit.note(p_actor, p_action, 'dead_letters', null, jsonb_build_object(
            'count', discarded, 'ids', v_gone, 'filter', jsonb_strip_nulls(jsonb_build_object(
                'state', p_state, 'kind', p_kind, 'queue', p_queue, 'key', p_key,
                'fingerprint', p_fingerprint, 'until', p_until))));
    end if;
end
$$;

-- prune_resolved: removes what was resolved longer ago than p_keep. Returns how many.
create function jobkit.prune_resolved(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.dead_letters d
        where d.id = any (array(
            select l.id from jobkit.dead_letters l
            where l.state = 'resolved' and l.resolved_at < clock_timestamp() - p_keep
            order by l.resolved_at, l.id limit p_limit for update skip locked
        ))
        returning d.id
    )
    select count(*)::integer from gone
$$;

-- dead_letter_replay: for operators; returns the new job, or says why there is none.
--   select jobkit.dead_letter_replay(17);
--   select jobkit.dead_letter_replay(17, p_queue => 'slow', p_run_at => now() + '1 hour');
create function jobkit.dead_letter_replay(
    p_id bigint, p_queue text default null, p_run_at timestamptz default null,
    p_args jsonb default null, p_max_attempts integer default null, p_actor text default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_replay record;
begin
    if octet_length(p_args::text) > 1024 * 1024 then
        raise exception 'jobkit: the payload has % bytes; 1048576 are allowed',
            octet_length(p_args::text) using errcode = 'JK005';
    end if;
    select * into v_replay from jobkit.replay(p_id, coalesce(p_actor, session_user), p_queue,
        p_run_at, p_args, p_max_attempts);
    if v_replay.outcome = 'missing' then
        raise exception 'jobkit: there is no dead letter %', p_id using errcode = 'JK006';
    elsif v_replay.outcome = 'already' then
        raise exception 'jobkit: dead letter % is replayed already', p_id
            using errcode = 'JK007', detail = 'Job ' || v_replay.job_id || ' replays it.';
    elsif v_replay.outcome = 'resolved' then
        raise exception 'jobkit: dead letter % is resolved', p_id
            using errcode = 'JK007', detail = 'Job ' || v_replay.job_id || ' succeeded.';
    end if;
    return v_replay.job_id;
end
$$;

-- dead_letter_discard: for operators; removes one for good, or says why not.
create function jobkit.dead_letter_discard(p_id bigint, p_actor text default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_outcome text;
begin
    v_outcome := jobkit.discard_dead_letter(p_id, coalesce(p_actor, session_user));
    if v_outcome = 'missing' then
        raise exception 'jobkit: there is no dead letter %', p_id using errcode = 'JK006';
    elsif v_outcome = 'replaying' then
        raise exception 'jobkit: dead letter % is being replayed', p_id using errcode = 'JK007',
            hint = 'Cancel the job that replays it first.';
    end if;
end
$$;

-- dead_letter_replay_all, dead_letter_purge: for operators; p_limit of them at most, the oldest
-- first. Call again until nothing is left. What fails again meanwhile is not taken twice.
--   select * from jobkit.dead_letter_replay_all(p_kind => 'send_receipt');
create function jobkit.dead_letter_replay_all(
    p_kind text default null, p_queue text default null, p_key text default null,
    p_fingerprint text default null, p_until timestamptz default now(),
    p_limit integer default 1000, p_actor text default null,
    out replayed integer, out skipped integer, out conflicts integer
)
language sql
set search_path = pg_catalog, pg_temp
as $$
    select r.replayed, r.skipped, 0
    from jobkit.replay_page(p_kind, p_queue, p_key, p_fingerprint, p_until, '-infinity', 0,
        least(p_limit, 10000), coalesce(p_actor, session_user)) r
$$;

create function jobkit.dead_letter_purge(
    p_older_than interval, p_kind text default null, p_queue text default null,
    p_key text default null, p_fingerprint text default null, p_state text default 'open',
    p_limit integer default 1000, p_actor text default null
) returns integer
language sql
set search_path = pg_catalog, pg_temp
as $$
    select d.discarded
    from jobkit.discard_page(p_state, p_kind, p_queue, p_key, p_fingerprint,
        clock_timestamp() - p_older_than, '-infinity', 0, least(p_limit, 10000),
        coalesce(p_actor, session_user), 'purge') d
$$;
