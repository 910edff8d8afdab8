-- wake_callbacks: makes callbacks that still wait ready, and discards the other needless ones.
-- Returns how many became ready; null, and does nothing, if another session has one of them locked:
-- it may be a producer, so this does not wait.
create or replace function jobkit.wake_callbacks(p_due bigint[], p_needless bigint[])
returns integer
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_waiting bigint[];
    v_locked bigint[];
    v_due bigint[];
    v_job jobkit.jobs;
    v_outcome jobkit.outcome;
begin
    v_waiting := array(
        select s.job_id from jobkit.scheduled s
        where s.run_at = jobkit.parked() and s.job_id = any (p_due || p_needless)
    );
    v_locked := array(
        select j.id from jobkit.jobs j
        where j.id = any (v_waiting) order by j.id for no key update skip locked
    );
    v_locked := array(
        select s.job_id from jobkit.scheduled s
        where s.run_at = jobkit.parked() and s.job_id = any (v_locked) for update skip locked
    );
    if cardinality(v_locked) < cardinality(v_waiting) then
        return null;
    end if;
    delete from jobkit.scheduled s
    where s.run_at = jobkit.parked() and s.job_id = any (v_locked);
    update jobkit.jobs j set run_at = v_now where j.id = any (v_locked);
    v_due := array(select w.id from unnest(v_locked) as w (id) where w.id = any (p_due));
    perform jobkit.wake(array(select r.queue from jobkit.make_ready(v_due) r));
    v_outcome.outcome := 'discard';
    v_outcome.reason := 'not needed: the batch ended otherwise';
    for v_job in
        select * from jobkit.jobs j where j.id = any (v_locked) and j.id <> all (p_due)
        order by j.id
    loop
        perform jobkit.finish(v_job, null, v_outcome, p_charged => 0);
    end loop;
    return cardinality(v_due);
end
$$;
