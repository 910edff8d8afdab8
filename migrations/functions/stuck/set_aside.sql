-- set_aside: finds the jobs that cannot be claimed although the server is well, among those that a
-- claim would take first, within its slots, pauses and limits. Each leaves `ready` and gives up its
-- permit until it is tried again. Returns them.
-- It reads of a job what a claim returns, and writes what a claim writes; then it fails with JKTRY,
-- so that everything is undone, or with the error that the claim would raise.
create or replace function jobkit.set_aside(
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
    v_picked tid[];                              -- if something is paused or limited
    v_ready record;
    v_read boolean;
    v_at tid[] := '{}';
    v_jobs bigint[] := '{}';
    v_errors text[] := '{}';
    v_freed record;
    v_stuck record;
    v_retrying boolean;
begin
    perform jobkit.decide_lock();
    if exists (select from jobkit.limits l where l.holds) then
        select b.at into v_picked from jobkit.claim_limited(
            p_kinds, p_queues, p_slots, '{}', '{}', '{}', '{}', '{}', '{}') b;
    end if;
    for v_ready in
        select r.ctid as at, r.job_id as id,
            r.without_permit and r.concurrency_key is null as plain
        from jobkit.ready r
        where r.ctid = any (coalesce(v_picked, array(
            select f.at from unnest(p_queues, p_slots) as q (name, slots)
            cross join lateral (
                select f.ctid as at from jobkit.ready f
                where f.queue = q.name and f.kind = any (p_kinds)
                order by f.priority, f.without_permit, f.job_id
                limit q.slots for update of f skip locked) f)))
    loop
        v_read := false;
        begin
            perform j::text, j.attempt + 1 from jobkit.jobs j where j.id = v_ready.id;
            v_read := true;
            delete from jobkit.ready r where r.ctid = v_ready.at;
            perform jobkit.claim_within(
                p_worker, 0, not v_ready.plain, c.ids, p_queues, p_kinds, 8388608)
            from jobkit.claim_apart(p_worker, 0, array[v_ready.id], v_ready.plain, p_queues,
                '{}', '{}', p_kinds, p_kinds, '{}') c;
            raise exception 'jobkit: it could be claimed' using errcode = 'JKTRY';
        exception when others then
            -- It could be claimed, or a lock is in the way, or the server refuses all jobs alike.
            continue when v_read and (sqlstate = 'JKTRY'
                or left(sqlstate, 2) in ('25', '40', '42', '53', '55', '57'));
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
            update jobkit.jobs j set run_at = v_stuck.retry_at, due_since = null
            where j.id = v_stuck.id
            returning j.attempt > 0 into v_retrying;
        exception when others then
            -- Its page is damaged: it is scheduled for a time that differs from its run_at.
            v_retrying := false;
        end;
        insert into jobkit.scheduled (run_at, job_id, retrying)
        values (v_stuck.retry_at, v_stuck.id, coalesce(v_retrying, false));
    end loop;
    perform jobkit.grant_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);
    return query select * from unnest(v_jobs, v_errors);
end
$$;
