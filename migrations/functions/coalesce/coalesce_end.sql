-- coalesce_end: ends jobs that newer ones of their keys run for: p_by says which. The caller holds
-- their rows, and has taken them from where they waited.
create or replace function jobkit.coalesce_end(p_jobs bigint[], p_by bigint[]) returns void
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_kinds text[];
    v_expiry timestamptz[];
begin
    if p_jobs is null then
        return;
    end if;
    if exists (select from jobkit.jobs j where j.id = any (p_jobs) and j.awaited) then
        perform jobkit.tell_end();
    end if;
    -- Not in the statement, which would be in the way of a day that is made.
    select array_agg(k.kind), array_agg(jobkit.expiry(v_now + k.kept)) into v_kinds, v_expiry
    from (
        select s.kind, coalesce(s.retention_discarded, s.retention) as kept from jobkit.kinds s
    ) k
    where k.kept is not null
        and k.kind in (select j.kind from jobkit.jobs j where j.id = any (p_jobs));
    with gone as (
        delete from jobkit.jobs j where j.id = any (p_jobs) returning j.*
    )
    insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt, max_attempts,
        snoozes, created_at, run_at, finished_at, concurrency_group, concurrency_key, reason,
        errors, args, tags, metadata, version, expires_at)
    select g.id, g.kind, g.queue, g.priority, 'coalesce', g.attempt, g.max_attempts, g.snoozes,
        g.created_at, g.run_at, v_now, g.concurrency_group, g.concurrency_key,
        'coalesced into job ' || b.by, case when g.attempt > 0 then jobkit.errors_of(g.id) end,
        g.args, g.tags, g.metadata, g.version, e.expiry
    from gone g
    join unnest(p_jobs, p_by) as b (job, by) on b.job = g.id
    join unnest(v_kinds, v_expiry) as e (kind, expiry) on e.kind = g.kind;
    delete from jobkit.attempts a where a.job_id = any (p_jobs);
end
$$;
