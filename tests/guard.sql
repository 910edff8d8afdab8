-- The guard of test databases: no transaction commits a violation. At its commit each job and key
-- that it touched is looked up in `jobkit.job_violations` and `jobkit.key_violations`: the views
-- are the checks, and each is made once however many rows were touched. It reads whole tables: not
-- for bulk.
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

-- first: whether this transaction asks for the first time. All checks come at its end, so one is
-- as good as many.
create function guard.first(p_who text) returns boolean
language plpgsql as $$
declare
    v_seen constant text := coalesce(nullif(current_setting('guard.seen', true), ''), E'\n');
begin
    if current_setting('transaction_isolation') = 'serializable'
        or position(E'\n' || p_who || E'\n' in v_seen) > 0
    then
        return false;
    end if;
    perform set_config('guard.seen', v_seen || p_who || E'\n', true);
    return true;
end
$$;

create function guard.check_job(p_job bigint) returns void
language plpgsql as $$
declare
    v_what text;
begin
    if guard.first('job ' || p_job) then
        for v_what in select v.what from jobkit.job_violations v where v.job_id = p_job loop
            perform guard.alarm(v_what, 'job ' || p_job);
        end loop;
    end if;
end
$$;

create function guard.check_key(p_group text, p_key text) returns void
language plpgsql as $$
declare
    v_who constant text := format('key %s %s', p_group, p_key);
    v_what text;
begin
    if guard.first(v_who) then
        for v_what in
            select v.what from jobkit.key_violations v
            where v.concurrency_group = p_group and v.concurrency_key = p_key
        loop
            if v_what <> 'a free permit and a blocked job to run'
                or guard.served_when_filled(p_group, p_key)
            then
                perform guard.alarm(v_what, v_who);
            end if;
        end loop;
    end if;
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

-- given: whoever gave a permit keeps to the limit. (Who lowers it takes none away.)
create function guard.given() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    v_who constant text := format('key %s %s', new.concurrency_group, new.concurrency_key);
begin
    if guard.first('limit of ' || v_who) and exists (
        select from jobkit.limits l
        where l.concurrency_group = new.concurrency_group
            and l.concurrency_key = new.concurrency_key
            and l.taken > l.effective_limit
    ) then
        perform guard.alarm('a permit beyond the limit', v_who);
    end if;
    return null;
end
$$;
create constraint trigger given after insert or update on jobkit.permits
    deferrable initially deferred for each row execute function guard.given();

create function guard.touched() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_job bigint;
begin
    if tg_table_name = 'claims' then
        foreach v_job in array coalesce(old.job_ids, '{}') || coalesce(new.job_ids, '{}') loop
            perform guard.check_job(v_job);
        end loop;
    elsif tg_table_name = 'jobs' then
        perform guard.check_job(coalesce(new.id, old.id));
    elsif tg_table_name <> 'semaphores' then
        -- A permit may pass from one to another.
        perform guard.check_job(j) from unnest(array[old.job_id, new.job_id]) as j
        where j is not null;
    end if;
    if tg_table_name in ('semaphores', 'permits', 'blocked_executions') then
        perform guard.check_key(coalesce(new.concurrency_group, old.concurrency_group),
            coalesce(new.concurrency_key, old.concurrency_key));
    end if;
    return null;
end
$$;

do $$
declare
    v_table text;
begin
    foreach v_table in array array['semaphores', 'permits', 'blocked_executions', 'ready',
                                   'scheduled', 'claims', 'jobs']
    loop
        execute format('create constraint trigger touched after insert or update or delete
            on jobkit.%I deferrable initially deferred
            for each row execute function guard.touched()', v_table);
    end loop;
end
$$;
