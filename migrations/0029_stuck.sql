-- Jobs that are stuck: some transition fails with them, and the server is to blame, not they. They
-- are never dropped and never charged for it: whoever met one does the others, notes it here, and
-- tries it again after a while. `promote` forgets those that nobody has met again.

-- stick: notes that p_transition failed with these jobs. They are to be left alone for 10 seconds,
-- twice as long after each further failure, and 5 minutes at most; returns how long.
create function jobkit.stick(
    p_transition text, p_jobs bigint[], p_errors text[], p_worker bigint
) returns table (job_id bigint, wait interval)
language sql
set search_path = pg_catalog, pg_temp
as $$
    insert into jobkit.stuck_jobs as s (job_id, transition, error, since, tries, retry_at,
        worker_id)
    select u.job, p_transition, left(u.error, 2000), clock_timestamp(), 1,
        clock_timestamp() + interval '10 s', p_worker
    from unnest(p_jobs, p_errors) as u (job, error) order by u.job
    on conflict on constraint stuck_jobs_pkey do update
    set transition = excluded.transition, error = excluded.error, worker_id = excluded.worker_id,
        tries = s.tries + 1, retry_at = clock_timestamp()
            + least(interval '5 min', interval '10 s' * power(2, least(s.tries, 5)))
    returning s.job_id, s.retry_at - clock_timestamp()
$$;

-- unstick: these went through.
create function jobkit.unstick(p_jobs bigint[]) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    delete from jobkit.stuck_jobs s where s.job_id = any (p_jobs)
$$;

-- unclaim: takes jobs out of a claim whose row the caller holds: those of p_jobs, or all when that
-- is null; but none that is stuck. Returns them.
create function jobkit.unclaim(p_claim jobkit.claims, p_jobs bigint[]) returns bigint[]
language plpgsql as $$
declare
    v_stuck constant bigint[] := jobkit.stuck();
    v_taken constant bigint[] := array(
        select l.id from unnest(p_claim.job_ids) as l (id)
        where l.id <> all (v_stuck) and (p_jobs is null or l.id = any (p_jobs))
    );
begin
    if cardinality(v_taken) = cardinality(p_claim.job_ids) then
        delete from jobkit.claims c where c.worker_id = p_claim.worker_id and c.n = p_claim.n;
    elsif v_taken <> '{}' then
        update jobkit.claims c
        set job_ids = array(select unnest(p_claim.job_ids) except select unnest(v_taken))
        where c.worker_id = p_claim.worker_id and c.n = p_claim.n;
    end if;
    perform jobkit.unstick(v_taken);
    return v_taken;
end
$$;

-- set_aside: of the ready jobs that a claim would take first, as many as it has slots, those that
-- cannot be read, although the server is well: each leaves `ready`, with its permit, until it is
-- tried again. Returns them. What it reads of a job is what a claim answers.
create function jobkit.set_aside(
    p_worker bigint, p_kinds text[], p_queues text[], p_slots integer[]
) returns table (job_id bigint, error text)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
    v_ready record;
    v_at tid[] := '{}';
    v_jobs bigint[] := '{}';
    v_errors text[] := '{}';
    v_freed record;
    v_stuck record;
    v_retrying boolean;
begin
    perform jobkit.gate();
    for v_ready in
        select f.* from unnest(p_queues, p_slots) as q (name, slots)
        cross join lateral (
            select r.ctid as at, r.job_id as id from jobkit.ready r
            where r.queue = q.name and r.kind = any (p_kinds)
            order by r.priority, r.without_permit, r.job_id
            limit q.slots for update skip locked
        ) f
    loop
        begin
            perform j::text, j.attempt + 1 from jobkit.jobs j where j.id = v_ready.id;
        exception when others then
            v_at := v_at || v_ready.at;
            v_jobs := v_jobs || v_ready.id;
            v_errors := v_errors || sqlerrm;
        end;
    end loop;
    delete from jobkit.ready r where r.ctid = any (v_at);
    select * into v_freed from jobkit.signal(v_jobs);
    for v_stuck in
        select s.job_id as id, clock_timestamp() + s.wait as retry_at
        from jobkit.stick('claim', v_jobs, v_errors, p_worker) s
    loop
        begin
            update jobkit.jobs j set run_at = v_stuck.retry_at where j.id = v_stuck.id
            returning j.attempt > 0 into v_retrying;
        exception when others then
            -- Its page is damaged: it is scheduled at another time than it says itself.
            v_retrying := false;
        end;
        perform jobkit.make_scheduled(v_stuck.id, v_stuck.retry_at, coalesce(v_retrying, false));
    end loop;
    perform jobkit.fill_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);
    return query select * from unnest(v_jobs, v_errors);
end
$$;

-- operate_past: leaves out the job or dead letter with which the next step of an operation fails by
-- itself, and goes on behind it. Whether there is one.
create function jobkit.operate_past(p_operation jobkit.operations, p_error text) returns boolean
language plpgsql as $$
declare
    v_filter constant jsonb := p_operation.filter;
    v_page record;
    v_subject bigint;
begin
    if p_operation.batch <> '{}' then
        v_subject := p_operation.batch[1];
        update jobkit.operations o set batch = o.batch[2 :] where o.id = p_operation.id;
    elsif p_operation.verb in ('cancel', 'discard', 'reschedule') then
        select * into v_page from jobkit.jobs_to_do(p_operation, 1);
        v_subject := v_page.jobs[1];
        update jobkit.operations o set after_id = coalesce(v_page.last, o.up_to)
        where o.id = p_operation.id;
    elsif v_filter ? 'ids' then
        select * into v_page from jobkit.ids_meant(p_operation, 1);
        v_subject := v_page.last;
        update jobkit.operations o set after_id = v_page.last where o.id = p_operation.id;
    else
        select * into v_page from jobkit.dead_letters_page(v_filter ->> 'state',
            v_filter ->> 'kind', v_filter ->> 'queue', v_filter ->> 'key',
            v_filter ->> 'fingerprint', p_operation.until, p_operation.after_at,
            p_operation.after_id, 1);
        v_subject := v_page.ids[1];
        update jobkit.operations o set after_at = v_page.last_at, after_id = v_page.last_id
        where o.id = p_operation.id and v_page.last_at is not null;
    end if;
    if v_subject is null then
        return false;
    end if;
    perform jobkit.operation_took(p_operation.id, 0, array[v_subject],
        array['failed: ' || left(p_error, 500)]);
    return true;
end
$$;
