-- The guard of test databases: no transaction commits a violation. What it touches is noted, and at
-- its commit all those jobs, keys and batches are looked up in `jobkit.job_violations`,
-- `jobkit.key_violations` and `jobkit.batch_violations` at once: the views are the checks. It reads
-- whole tables: not for bulk.
--
-- A serializable transaction is not checked: what the guard reads would make it fail.

create schema guard;

-- How often it refused a commit: a sequence, because what the refused one wrote is gone.
create sequence guard.alarms;

create function guard.alarm(p_what text, p_who text) returns void
language plpgsql as $$
begin
    perform nextval('guard.alarms');
    raise exception 'guard: % (%)', p_what, p_who using errcode = 'JK099';
end
$$;

-- note: remembers until the commit what this transaction touched, as elements of a JSON array.
create function guard.note(p_list text, p_what json) returns void
language plpgsql as $$
declare
    v_noted constant text := nullif(current_setting(p_list, true), '');
begin
    perform set_config(p_list, concat_ws(',', v_noted, p_what), true);
end
$$;

-- taken: what was noted; it is forgotten, and checked no second time.
create function guard.taken(p_list text) returns jsonb
language plpgsql as $$
declare
    v_noted constant text := coalesce(current_setting(p_list, true), '');
begin
    perform set_config(p_list, '', true);
    return '[' || v_noted || ']';
end
$$;

create function guard.check_jobs(p_jobs bigint[]) returns void
language plpgsql as $$
declare
    v record;
begin
    for v in select j.what, j.job_id from jobkit.job_violations j where j.job_id = any (p_jobs) loop
        perform guard.alarm(v.what, 'job ' || v.job_id);
    end loop;
end
$$;

create function guard.check_batches(p_batches bigint[]) returns void
language plpgsql as $$
declare
    v record;
begin
    for v in
        select b.what, b.batch_id from jobkit.batch_violations b where b.batch_id = any (p_batches)
    loop
        perform guard.alarm(v.what, 'batch ' || v.batch_id);
    end loop;
end
$$;

create function guard.check_key(p_group text, p_key text) returns void
language plpgsql as $$
declare
    v_what text;
begin
    for v_what in
        select v.what from jobkit.key_violations v
        where v.concurrency_group = p_group and v.concurrency_key = p_key
    loop
        if v_what <> 'a free permit and a blocked job to run'
            or guard.served_when_filled(p_group, p_key)
        then
            perform guard.alarm(v_what, format('key %s %s', p_group, p_key));
        end if;
    end loop;
end
$$;

-- served_when_filled: whether the blocked jobs of a key are served by a worker that this
-- transaction can have seen when it first gave out permits. One that registered since, and
-- committed before it, is seen here and was not there: its own sweep looks after these jobs. (A
-- heartbeat since then hides a worker, too: a violation may be missed, but none made up.)
create function guard.served_when_filled(p_group text, p_key text) returns boolean
language sql as $$
    select exists (
        select from jobkit.blocked_executions b
        cross join lateral jobkit.serving(b.queue, b.kind) as v (id)
        join jobkit.workers w on w.id = v.id
        where b.concurrency_group = p_group and b.concurrency_key = p_key
            and coalesce(pg_visible_in_snapshot(w.xmin::text::xid8,
                nullif(current_setting('guard.filled', true), '')::pg_snapshot), true)
    )
$$;

-- note_fill: notes the snapshot of the first `grant_permits` or `pass_permit`. Stable, so that it
-- sees what that saw.
create function guard.note_fill() returns trigger
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if coalesce(current_setting('guard.filled', true), '') = '' then
        perform set_config('guard.filled', pg_current_snapshot()::text, true);
    end if;
    return null;
end
$$;
create trigger note_fill after insert or update on jobkit.permits
    for each statement execute function guard.note_fill();

-- check_limit: whoever gave a permit keeps to the limit. (Who lowers it takes none away.)
create function guard.check_limit(p_group text, p_key text) returns void
language plpgsql as $$
begin
    if exists (
        select from jobkit.key_limits l
        where l.concurrency_group = p_group and l.concurrency_key = p_key
            and l.taken > l.effective_limit
    ) then
        perform guard.alarm('a permit beyond the limit', format('key %s %s', p_group, p_key));
    end if;
end
$$;

create function guard.touched() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if tg_table_name = 'batches' then
        perform guard.note('guard.batches', to_json(coalesce(new.id, old.id)));
        return null;
    elsif tg_table_name like 'batch%' then
        perform guard.note('guard.batches', to_json(coalesce(new.batch_id, old.batch_id)));
        return null;
    elsif tg_table_name = 'jobs' then
        perform guard.note('guard.batches', to_json(b))
        from unnest(array[old.batch_id, new.batch_id, old.callback_of, new.callback_of]) as b
        where b is not null;
    end if;
    if tg_table_name = 'claims' then
        perform guard.note('guard.jobs', to_json(j))
        from unnest(coalesce(old.job_ids, '{}') || coalesce(new.job_ids, '{}')) as j;
    elsif tg_table_name = 'jobs' then
        perform guard.note('guard.jobs', to_json(coalesce(new.id, old.id)));
    elsif tg_table_name <> 'semaphores' then
        -- A permit may pass from one to another.
        perform guard.note('guard.jobs', to_json(j))
        from unnest(array[old.job_id, new.job_id]) as j where j is not null;
    end if;
    if tg_table_name in ('semaphores', 'permits', 'blocked_executions') then
        perform guard.note('guard.keys', json_build_array(
            coalesce(new.concurrency_group, old.concurrency_group),
            coalesce(new.concurrency_key, old.concurrency_key),
            tg_table_name = 'permits' and tg_op <> 'DELETE'));
    end if;
    return null;
end
$$;

-- check: at the commit, for the first of the rows that were touched, and so for all.
create function guard.check() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_jobs constant jsonb := guard.taken('guard.jobs');
    v_keys constant jsonb := guard.taken('guard.keys');
    v_batches constant jsonb := guard.taken('guard.batches');
begin
    if current_setting('transaction_isolation') = 'serializable' then
        return null;
    end if;
    if v_jobs <> '[]' then
        perform guard.check_jobs(array(select distinct jsonb_array_elements(v_jobs)::bigint));
    end if;
    if v_batches <> '[]' then
        perform guard.check_batches(array(
            select distinct jsonb_array_elements(v_batches)::bigint));
    end if;
    perform guard.check_key(k ->> 0, k ->> 1),
        case when (k ->> 2)::boolean then guard.check_limit(k ->> 0, k ->> 1) end
    from (select distinct jsonb_array_elements(v_keys)) as v (k);
    return null;
end
$$;

do $$
declare
    v_table text;
begin
    foreach v_table in array array['semaphores', 'permits', 'blocked_executions', 'ready',
                                   'scheduled', 'claims', 'jobs', 'batches', 'batch_tallies',
                                   'batch_counts', 'batch_holds']
    loop
        execute format('create trigger touched after insert or update or delete
            on jobkit.%I for each row execute function guard.touched()', v_table);
        execute format('create constraint trigger checked after insert or update or delete
            on jobkit.%I deferrable initially deferred
            for each row execute function guard.check()', v_table);
    end loop;
end
$$;
