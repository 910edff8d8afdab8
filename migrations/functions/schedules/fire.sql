-- fire: decides instants of schedules that are due: enqueues their jobs, or records why not.
--   p_names           the schedules
--   p_seen, p_times   `next_at` and `times` of each, on which the caller's decision is based
--   p_next            the new `next_at` of each
--   p_of, p_instants  the instants, and the schedule of each
--   p_skipped         why no job is enqueued; null: one is
--   p_since           the first instant that a skipped one stands for, if there are several
-- Returns how many instants were fired, and how many skipped. Leaves out schedules that are locked,
-- have moved on, or are not due by this server's clock. Why no instant is fired twice, even by two
-- callers at once: docs/decisions/0015-schedules.md.
create or replace function jobkit.fire(
    p_names text[], p_seen timestamptz[], p_next timestamptz[],
    p_of text[], p_instants timestamptz[], p_skipped text[], p_since timestamptz[],
    p_times text[], out fired integer, out skipped integer
)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
-- A plan for arrays of unknown length expects short ones, and is quadratic in what is due.
set plan_cache_mode = force_custom_plan
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_taken text[];
    v_ahead boolean;
    v_run record;
    v_jobs bigint[];
begin
    perform jobkit.require_read_committed();
    select coalesce(array_agg(l.name), '{}'), coalesce(bool_or(l.last_at > v_now), false)
    into v_taken, v_ahead
    from (
        select s.name, s.last_at from unnest(p_names, p_seen, p_times) as c (name, seen, times)
        join jobkit.schedules s on s.name = c.name and s.next_at = c.seen
            and s.times = c.times
        left join (
            select i.schedule, max(i.instant) as last
            from unnest(p_of, p_instants) as i (schedule, instant) group by i.schedule
        ) i on i.schedule = c.name
        where s.removed_at is null and i.last <= v_now is not false
        order by s.name for update of s skip locked
    ) l;
    if v_ahead then
        perform jobkit.undecide(v_taken);
    end if;
    select array_agg(i.schedule order by i.schedule, i.instant)
            filter (where i.skipped is null) as schedules,
        array_agg(i.instant order by i.schedule, i.instant)
            filter (where i.skipped is null) as instants,
        array_agg(i.schedule) filter (where i.skipped is not null) as passed,
        array_agg(i.instant) filter (where i.skipped is not null) as passed_at,
        array_agg(i.skipped) filter (where i.skipped is not null) as reasons,
        array_agg(i.since) filter (where i.skipped is not null) as since
    into v_run
    from (
        select s.name as schedule, p.instant, p.since, case
            when s.paused_at is not null then 'paused'
            when p.skipped is not null then p.skipped
            when s.overlap = 'skip_if_running' and exists (
                select from jobkit.jobs j where j.id = any (s.jobs)
            ) then 'running' end as skipped
        from unnest(p_of, p_instants, p_skipped, p_since) as p (schedule, instant, skipped, since)
        join jobkit.schedules s on s.name = p.schedule
        where s.name = any (v_taken) and p.instant > coalesce(s.last_at, '-infinity')
            and not exists (
                select from jobkit.schedule_runs r
                where r.schedule = s.name and r.instant = p.instant
            )
    ) i;
    v_jobs := jobkit.enqueue_scheduled(v_run.schedules, v_run.instants);
    insert into jobkit.schedule_runs (schedule, instant, job_id)
    select r.schedule, r.instant, r.job
    from unnest(v_run.schedules, v_run.instants, v_jobs) as r (schedule, instant, job);
    insert into jobkit.schedule_runs (schedule, instant, skipped, since)
    select r.schedule, r.instant, r.skipped, r.since
    from unnest(v_run.passed, v_run.passed_at, v_run.reasons, v_run.since)
        as r (schedule, instant, skipped, since);
    update jobkit.schedules s
    set next_at = c.next, last_at = greatest(s.last_at, l.instant)
    from unnest(p_names, p_next) as c (name, next)
    left join (
        select i.schedule, max(i.instant) as instant
        from unnest(p_of, p_instants) as i (schedule, instant) group by i.schedule
    ) l on l.schedule = c.name
    where s.name = c.name and s.name = any (v_taken);
    fired := coalesce(cardinality(v_run.schedules), 0);
    skipped := coalesce(cardinality(v_run.passed), 0);
end
$$;
