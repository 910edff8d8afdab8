-- fan_out: enqueues a job for each kind that subscribes to a topic, with this payload and with what
-- the kind announced. A full queue accepts its job, too: publishers do not know about queues.
--   p_version  the version of the payload; null: 1
-- Returns the jobs with their kinds; their terms name the topic. It only reads and inserts, at any
-- isolation level, and waits for nobody. Runs as the owner, for roles that may only enqueue.
create or replace function jobkit.fan_out(
    p_topic text, p_args text, p_version smallint, p_metadata jsonb,
    p_terms jsonb default null
) returns table (job_id bigint, kind text)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_to record;
    v_jobs bigint[];
    v_terms constant jsonb :=
        coalesce(p_terms, '{}') || jsonb_build_object('topic', p_topic);
begin
    perform jobkit.refuse(jobkit.wrong_with(
        'kind', 'queue', 0, 1, null, null, null, p_args, p_metadata, p_version));
    select count(*)::integer as jobs, array_agg(k.kind order by k.kind) as kind,
        array_agg(k.queue order by k.kind) as queue,
        array_agg(k.priority order by k.kind) as priority,
        array_agg(k.max_attempts order by k.kind) as max_attempts,
        array_agg(k.kind order by k.kind) filter (where k.encrypt <> '{}') as sealed
    into v_to
    from jobkit.subscriptions s join jobkit.kinds k on k.kind = s.kind
    where s.topic = p_topic;
    if v_to.jobs = 0 then
        return;
    end if;
    -- A kind that subscribes encrypts nothing; but it may have done so, or be about to.
    perform jobkit.require_sealed(s.kind, p_args::jsonb) from unnest(v_to.sealed) as s (kind);
    v_jobs := array(select e.id from jobkit.insert_jobs(
        jobkit.new_jobs(p_kind => v_to.kind, p_queue => v_to.queue, p_priority => v_to.priority,
            p_max_attempts => v_to.max_attempts, p_args => array_fill(p_args, array[v_to.jobs]),
            p_metadata => array_fill(p_metadata, array[v_to.jobs]),
            p_version => array_fill(p_version, array[v_to.jobs]),
            p_terms => array_fill(v_terms, array[v_to.jobs])),
        p_bounded => false) as e (id));
    return query select u.job_id, u.kind from unnest(v_jobs, v_to.kind) as u (job_id, kind);
end
$$;
revoke all on function jobkit.fan_out from public;
