-- enqueue_scheduled: a job of each of these schedules, for the instant beside it, which the job's
-- metadata say (where they are an object). The caller holds the schedules. A queue that is full
-- takes them all the same. Returns the jobs, in the order given.
create or replace function jobkit.enqueue_scheduled(p_schedules text[], p_instants timestamptz[])
returns bigint[]
language plpgsql as $$
declare
    v_new record;
    v_jobs bigint[];
begin
    if coalesce(cardinality(p_schedules), 0) = 0 then
        return '{}';
    end if;
    select array_agg(s.kind order by i.n) as kind, array_agg(s.queue order by i.n) as queue,
        array_agg(s.priority order by i.n) as priority,
        array_agg(s.max_attempts order by i.n) as max_attempts,
        array_agg(case when s.jitter > '0' then s.jitter * random() end order by i.n) as delay,
        array_agg(s.concurrency_group order by i.n) as grp,
        array_agg(s.concurrency_key order by i.n) as key,
        array_agg(s.args::text order by i.n) as args,
        array_agg(to_jsonb(s.tags) order by i.n) as tags,
        array_agg(case coalesce(jsonb_typeof(s.metadata), 'object')
            when 'object' then coalesce(s.metadata, '{}')
                || jsonb_build_object('schedule', s.name, 'instant', i.instant)
            else s.metadata end order by i.n) as metadata,
        array_agg(s.dead_letter_key order by i.n) as dead_letter_key,
        array_agg(s.version order by i.n) as version
    into v_new
    from unnest(p_schedules, p_instants) with ordinality as i (schedule, instant, n)
    join jobkit.schedules s on s.name = i.schedule;
    v_jobs := array(select e.id from jobkit.insert_jobs(v_new.kind, v_new.queue, v_new.priority,
        v_new.max_attempts, v_new.delay, array[]::timestamptz[], v_new.grp, v_new.key, v_new.args,
        v_new.tags, v_new.metadata, v_new.dead_letter_key, v_new.version,
        p_bounded => false) as e (id));
    update jobkit.schedules s
    set jobs = n.jobs || array(select j.id from jobkit.jobs j where j.id = any (s.jobs))
    from (
        select i.schedule, array_agg(i.job) as jobs
        from unnest(p_schedules, v_jobs) as i (schedule, job) group by i.schedule
    ) n
    where s.name = n.schedule and s.overlap = 'skip_if_running';
    return v_jobs;
end
$$;
