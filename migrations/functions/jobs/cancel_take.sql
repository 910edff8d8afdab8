-- cancel_take: removes marked jobs from where they wait and ends them; p_outcome is `cancel` or
-- `discard`. Returns the jobs that have ended, now or before. The others run or are locked by
-- another session: the mark ends them.
create or replace function jobkit.cancel_take(p_jobs bigint[], p_outcome text, p_reason text)
returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_pulled record;
    v_job jobkit.jobs;
    v_outcome jobkit.outcome;
    v_members boolean := false;                  -- whether some are members of a batch
begin
    v_outcome.outcome := p_outcome;
    v_outcome.reason := p_reason;
    perform jobkit.decide_lock();
    select * into v_pulled from jobkit.withdraw(array(
        select j.id from jobkit.jobs j
        where j.id = any (p_jobs) and j.cancel_requested_at is not null
    ));
    for v_job in select * from jobkit.lock_jobs(v_pulled.jobs) loop
        perform jobkit.finish(v_job, null, v_outcome, p_charged => 0);
        v_members := v_members or v_job.batch_id is not null;
    end loop;
    if v_members then
        perform jobkit.wake_due(clock_timestamp());
    end if;
    perform jobkit.grant_and_wake(v_pulled.groups, v_pulled.keys, v_pulled.freed);
    return query
    select p.id from unnest(p_jobs) as p (id)
    where not exists (select from jobkit.jobs j where j.id = p.id);
end
$$;
