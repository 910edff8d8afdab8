-- enqueue_scheduled: enqueues a job for each of these schedules and its instant, which is added to
-- the job's metadata if these are an object. The caller holds the schedules. A full queue accepts
-- these jobs, too. Returns the jobs in the order given.
create or replace function jobkit.enqueue_scheduled(p_schedules text[], p_instants timestamptz[])
returns bigint[]
language plpgsql as $$
declare
    v_new jobkit.new_jobs;
    v_jobs bigint[];
begin
    if coalesce(cardinality(p_schedules), 0) = 0 then
        return '{}';
    end if;
    v_new := (select jobkit.new_jobs(p_kind => array_agg(s.kind order by i.n),
        p_queue => array_agg(s.queue order by i.n),
        p_priority => array_agg(s.priority order by i.n),
        p_max_attempts => array_agg(s.max_attempts order by i.n),
        p_args => array_agg(s.args::text order by i.n),
        p_delay => array_agg(case when s.jitter > '0' then s.jitter * random() end order by i.n),
        p_concurrency_group => array_agg(s.concurrency_group order by i.n),
        p_concurrency_key => array_agg(s.concurrency_key order by i.n),
        p_dead_letter_key => array_agg(s.dead_letter_key order by i.n),
        p_tags => array_agg(to_jsonb(s.tags) order by i.n),
        p_metadata => array_agg(case coalesce(jsonb_typeof(s.metadata), 'object')
            when 'object' then coalesce(s.metadata, '{}')
                || jsonb_build_object('schedule', s.name, 'instant', i.instant)
            else s.metadata end order by i.n),
        p_version => array_agg(s.version order by i.n))
    from unnest(p_schedules, p_instants) with ordinality as i (schedule, instant, n)
    join jobkit.schedules s on s.name = i.schedule);
    v_jobs := array(
        select e.id from jobkit.insert_jobs(v_new, p_bounded => false) as e (id)
    );
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
