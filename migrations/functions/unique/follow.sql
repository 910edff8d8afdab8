-- follow: passes keys, whose rows the caller has deleted, from jobs that ended to their followers.
-- A follower becomes ready, or waits until the time it was requested for (`due_since`). Cancelled
-- followers get nothing; one that an operator rescheduled still gets the key.
-- Waits for nobody: a follower that is locked follows later (`follow_left`).
create or replace function jobkit.follow(
    p_scope text[], p_key text[], p_job bigint[], p_follower bigint[],
    p_until timestamptz[]
) returns void
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_had bigint[];
    v_parked bigint[];
begin
    v_had := array(
        select j.id from jobkit.jobs j
        where j.id = any (p_follower) and (j.id, j.unique_scope, j.unique_key) in (
            select * from unnest(p_follower, p_scope, p_key)
        ) for no key update skip locked
    );
    with parked as (
        delete from jobkit.scheduled s
        where s.ctid = any (array(
            select q.at from jobkit.jobs j
            cross join lateral (
                select s.ctid as at from jobkit.scheduled s
                where s.run_at = j.run_at and s.job_id = j.id for update skip locked
            ) q
            where j.id = any (v_had) and j.run_at = jobkit.parked()
                and j.cancel_requested_at is null
        ))
        returning s.job_id
    )
    select array_agg(p.job_id) into v_parked from parked p;
    insert into jobkit.unique_keys (scope, key, job_id, held_until, follower_id, follower_until)
    select f.scope, f.key, case when l.later then f.job else f.follower end,
        case when not l.later then f.until end, case when l.later then f.follower end,
        case when l.later then f.until end
    from unnest(p_scope, p_key, p_job, p_follower, p_until)
        as f (scope, key, job, follower, until)
    join jobkit.jobs j on j.id = f.follower and j.unique_scope = f.scope and j.unique_key = f.key
        and j.cancel_requested_at is null
    cross join lateral (
        select j.run_at = jobkit.parked() and f.follower = any (v_parked) is not true as later
    ) l
    order by f.scope collate "C", f.key collate "C";
    if v_parked is not null then
        update jobkit.jobs j set run_at = greatest(j.due_since, v_now), due_since = null
        where j.id = any (v_parked);
        insert into jobkit.scheduled (run_at, job_id)
        select j.run_at, j.id from jobkit.jobs j where j.id = any (v_parked) and j.run_at > v_now;
        perform jobkit.wake_due(j.run_at)
        from jobkit.jobs j where j.id = any (v_parked) and j.run_at > v_now;
        perform jobkit.wake(array(select r.queue from jobkit.make_ready(array(
            select j.id from jobkit.jobs j where j.id = any (v_parked) and j.run_at = v_now)) r));
    end if;
end
$$;
