-- Roles for a database with jobkit. Apply this yourself: as a superuser, after `migrate`, and again
-- after each upgrade.
--   owner     owns the schema and everything in it
--   migrator  may become the owner, and so upgrade
--   producer  enqueues, and can do nothing else: it reads no job
--   worker    runs jobs
--   viewer    looks at everything but payloads
--   operator  looks at everything and acts on it
-- None of them can log in: grant them to roles that can. Nothing is granted to PUBLIC.
begin;
set local search_path = pg_catalog, pg_temp;
do $roles$
declare
    v_role text;
begin
    foreach v_role in array array['owner', 'migrator', 'producer', 'worker', 'viewer', 'operator']
    loop
        if to_regrole('jobkit_' || v_role) is null then
            execute format('create role %I nologin', 'jobkit_' || v_role);
        end if;
    end loop;
end
$roles$;
grant jobkit_owner to jobkit_migrator;

-- Everything belongs to the owner.
alter schema jobkit owner to jobkit_owner;
do $owner$
declare
    v_statement text;
begin
    for v_statement in
        select format('alter %s jobkit.%I owner to jobkit_owner',
            case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end,
            c.relname)
        from pg_class c
        where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
            and c.relowner <> 'jobkit_owner'::regrole
            -- The sequence of a column belongs to its table.
            and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass
                and d.objid = c.oid and d.deptype in ('a', 'i') and c.relkind = 'S')
        union all
        select format('alter routine %s owner to jobkit_owner', p.oid::regprocedure)
        from pg_proc p
        where p.pronamespace = 'jobkit'::regnamespace and p.proowner <> 'jobkit_owner'::regrole
        union all
        select format('alter type jobkit.%I owner to jobkit_owner', t.typname)
        from pg_type t left join pg_class c on c.oid = t.typrelid
        where t.typnamespace = 'jobkit'::regnamespace and t.typowner <> 'jobkit_owner'::regrole
            and (t.typtype in ('d', 'e') or t.typtype = 'c' and c.relkind = 'c')
    loop
        execute v_statement;
    end loop;
end
$owner$;

-- Earlier grants are revoked, so that this file lists all of them.
revoke all on schema jobkit from public;
revoke all on all tables in schema jobkit
    from public, jobkit_producer, jobkit_worker, jobkit_viewer, jobkit_operator;
revoke all on all sequences in schema jobkit
    from public, jobkit_producer, jobkit_worker, jobkit_viewer, jobkit_operator;
revoke all on all routines in schema jobkit
    from public, jobkit_producer, jobkit_worker, jobkit_viewer, jobkit_operator;
grant usage on schema jobkit
    to jobkit_producer, jobkit_worker, jobkit_viewer, jobkit_operator;
-- Each of these roles checks whether it knows the version of the schema.
grant select on jobkit._migrations
    to jobkit_producer, jobkit_worker, jobkit_viewer, jobkit_operator;

-- The producer has no right to any table. It calls functions, which check their arguments and set
-- ids, times and attempts. Of a job it stores, it learns only the id.
grant execute on function jobkit.add_to_batch, jobkit.close_batch, jobkit.contract,
    jobkit.enqueue, jobkit.enqueue_all, jobkit.enqueue_form_1, jobkit.enqueue_unique,
    jobkit.fan_out, jobkit.new_job, jobkit.new_jobs, jobkit.new_jobs_of, jobkit.open_batch,
    jobkit.publish, jobkit.store_all, jobkit.store_one, jobkit.store_unique
    to jobkit_producer;

-- The worker adds to the audit, and prunes it, only by functions. What an upgrade brings is granted
-- to it as well, so that workers need not wait until this is applied again.
grant select, insert, update, delete on all tables in schema jobkit to jobkit_worker;
revoke insert, update, delete on jobkit._migrations from jobkit_worker;
revoke insert, update, delete on jobkit.audit from jobkit_worker;
grant usage on all sequences in schema jobkit to jobkit_worker;
grant execute on all routines in schema jobkit to jobkit_worker;
revoke execute on function jobkit.set_sequences from jobkit_worker;
alter default privileges for role jobkit_owner in schema jobkit
    grant select, insert, update, delete on tables to jobkit_worker;
alter default privileges for role jobkit_owner in schema jobkit
    grant usage on sequences to jobkit_worker;
alter default privileges for role jobkit_owner in schema jobkit
    grant execute on routines to jobkit_worker;

-- The viewer: every column except payloads, which the views `shown_…` hide from it, and the
-- functions that change nothing.
grant select on all sequences in schema jobkit to jobkit_viewer;
-- Which session holds a job is read from system columns, which need the right to the whole table.
grant select on jobkit.ready, jobkit.scheduled to jobkit_viewer;
grant execute on function jobkit.turn_room, jobkit.errors_of to jobkit_viewer;
do $viewer$
declare
    v_hidden constant text[] := array['audit.detail', 'dead_letters.args',
        'dead_letters.metadata', 'finished.args', 'finished.metadata', 'finished.result',
        'jobs.args', 'jobs.metadata', 'schedules.args', 'schedules.metadata', 'steps.value'];
    v_statement text;
begin
    for v_statement in
        select format('grant select (%s) on jobkit.%I to jobkit_viewer',
            string_agg(quote_ident(a.attname), ', ' order by a.attnum), c.relname)
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p', 'v')
            -- The days of the history are read through their parent.
            and not c.relispartition
            and c.relname || '.' || a.attname <> all (v_hidden)
        group by c.relname
        union all
        select format('grant execute on routine %s to jobkit_viewer', p.oid::regprocedure)
        from pg_proc p
        where p.pronamespace = 'jobkit'::regnamespace and p.provolatile <> 'v' and not p.prosecdef
    loop
        execute v_statement;
    end loop;
end
$viewer$;

-- The operator adds to the audit only by a function, which sets the time.
grant select on all tables in schema jobkit to jobkit_operator;
grant insert, update, delete on jobkit.blocked_executions, jobkit.bounds,
    jobkit.acknowledged, jobkit.causes, jobkit.dead_letters, jobkit.due_keys, jobkit.jobs,
    jobkit.limits, jobkit.operation_results, jobkit.operations, jobkit.permits, jobkit.ready,
    jobkit.reserved_slots, jobkit.schedule_runs, jobkit.schedules, jobkit.scheduled,
    jobkit.semaphores, jobkit.stuck_jobs, jobkit.turns, jobkit.unique_keys
    to jobkit_operator;
grant insert on jobkit.batch_tallies, jobkit.finished to jobkit_operator;
grant delete on jobkit.attempts, jobkit.batch_holds, jobkit.subscriptions to jobkit_operator;
grant update on jobkit.batches, jobkit.steps, jobkit.sweeps, jobkit.workers to jobkit_operator;
grant usage on all sequences in schema jobkit to jobkit_operator;
grant execute on all routines in schema jobkit to jobkit_operator;
commit;
