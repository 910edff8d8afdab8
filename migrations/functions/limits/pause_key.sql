-- pause_key: grants no permit and no slot of a key for a time. Running jobs continue; unclaimed
-- jobs that hold a permit wait again. A pause that ends later stays, unless it ends later than it
-- would if it began now: then the clock stepped back. It ends automatically (`due_at`). Returns
-- whether it was not paused before; null if no worker has announced the group.
create or replace function jobkit.pause_key(
    p_group text, p_key text, p_for interval, p_actor text default null, p_reason text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_now timestamptz;
    v_before interval;
    v_pause interval;
    v_until timestamptz;
begin
    perform jobkit.refuse(case when (p_for between '0' and '30 d') is not true then
        'a key can be paused for at most 30 days, not for ' || coalesce(p_for::text, 'null') end);
    perform jobkit.decide_lock();
    if not exists (
        select from jobkit.limits l where l.name = p_group and l.scope in ('group', 'limiter')
    ) then
        return null;
    end if;
    perform jobkit.create_semaphores(array[p_group], array[p_key]);
    v_now := clock_timestamp();
    select least(s.paused_until - v_now, s.paused_for) into v_before from jobkit.semaphores s
    where s.concurrency_group = p_group and s.concurrency_key = p_key and s.paused_until > v_now;
    v_pause := greatest(v_before, p_for);
    update jobkit.semaphores s set paused_until = v_now + v_pause, paused_for = v_pause
    where s.concurrency_group = p_group and s.concurrency_key = p_key
    returning s.paused_until into v_until;
    perform jobkit.take_back(array(
        select p.job_id from jobkit.permits p
        where p.concurrency_group = p_group and p.concurrency_key = p_key
    ));
    perform jobkit.grant_and_wake(array[p_group], array[p_key], null);
    if p_actor is not null or p_reason is not null then
        perform jobkit.note(p_actor, 'pause', 'key', null,
            jsonb_strip_nulls(jsonb_build_object('group', p_group, 'until', v_until,
                'reason', p_reason)), p_key);
    end if;
    return v_before is null;
end
$$;
