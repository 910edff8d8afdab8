-- cancel_mark: from the commit of this mark on, nothing but an end awaits the job: retry, snooze,
-- release and reap end it as cancelled, and a claim hands it out only to be settled so.
-- False when there is no such live job.
create function jobkit.cancel_mark(p_job bigint) returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
    with marked as (
        update jobkit.jobs j
        set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
        where j.id = p_job returning j.id
    )
    select exists (select from marked)
$$;

-- cancel_take: takes a marked job from where it waits. True when the job has ended; false while it
-- is running or in the hands of another session: then the mark ends it.
-- Never waits for a ready or scheduled row: a claim holds those while it waits for others.
create function jobkit.cancel_take(p_job bigint, p_reason text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_job jobkit.jobs;
    v_found boolean;
begin
    perform jobkit.require_read_committed();
    select * into v_job from jobkit.jobs j
    where j.id = p_job and j.cancel_requested_at is not null;
    if not found then
        return not exists (select from jobkit.jobs j where j.id = p_job);
    end if;
    with picked as materialized (
        select r.ctid as at from jobkit.ready r
        where r.queue = v_job.queue and r.priority = v_job.priority and r.job_id = p_job
        for update skip locked
    )
    delete from jobkit.ready r using picked p where r.ctid = p.at;
    v_found := found;
    if not v_found then
        with picked as materialized (
            select s.ctid as at from jobkit.scheduled s
            where s.run_at = v_job.run_at and s.job_id = p_job
            for update skip locked
        )
        delete from jobkit.scheduled s using picked p where s.ctid = p.at;
        v_found := found;
    end if;
    if not v_found then
        return false;
    end if;
    select * into strict v_job from jobkit.jobs j where j.id = p_job for update;
    perform jobkit.finish(v_job, 'cancel', v_job.attempt, p_reason,
        (select k.retention from jobkit.kinds k where k.kind = v_job.kind), null, null);
    return true;
end
$$;
