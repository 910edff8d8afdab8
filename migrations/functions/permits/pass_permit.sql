-- pass_permit: `signal`, `grant_permits` and `hand_over` in one step, for the common case of a busy
-- key: one job takes the place of one that ended. The permit passes on, and the semaphore stays
-- unchanged. Returns that job. If anything else is to be done, it returns null, and has only locked
-- the semaphore.
create or replace function jobkit.pass_permit(
    p_worker bigint, p_n bigint, p_ended bigint, p_queues text[], p_room integer[]
) returns bigint[]
language plpgsql as $$
declare
    v_started timestamptz;
    v_key record;
    v_claimed bigint[];
begin
    select p.ctid as permit, p.concurrency_group as grp, p.concurrency_key as key, s.* into v_key
    from jobkit.permits p
    cross join lateral (
        select s.ctid as at, s.crowded from jobkit.semaphores s
        where s.concurrency_group = p.concurrency_group and s.concurrency_key = p.concurrency_key
        for update
    ) s
    where p.job_id = p_ended;
    if v_key.crowded is not true then
        return null;
    end if;
    v_started := clock_timestamp();
    with choice as materialized (
        select n.at, j.id, j.dead_letter_id is not null as replays
        from jobkit.key_limits l
        cross join lateral (
            select n.ctid as at, n.job_id, n.kind from jobkit.blocked_executions n
            where n.concurrency_group = v_key.grp and n.concurrency_key = v_key.key
                and (n.priority, n.job_id) >= (l.from_priority, l.from_id)
                and exists (select from jobkit.serving(n.queue, n.kind))
            order by n.priority, n.job_id limit 1
        ) n
        cross join lateral (
            select w.kinds from jobkit.workers w
            where w.id = p_worker and w.lease_until > clock_timestamp() and not w.stopping
            for key share skip locked
        ) w
        cross join lateral (select * from jobkit.jobs j where j.id = n.job_id offset 0) j
        where l.at = v_key.at and l.taken = l.effective_limit and not l.timed and j.crashes < 2
            and n.kind = any (w.kinds) and not exists (select from jobkit.limiting(j.queue, n.kind))
            and p_room[array_position(p_queues, j.queue)] > 0
            and jobkit.payload_size(j) <= 8 * 1024 * 1024
    ), unblocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(select c.at from choice c))
    ), permit as (
        update jobkit.permits p set job_id = c.id, since = clock_timestamp()
        from choice c where p.ctid = v_key.permit
    )
    insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
    select p_worker, p_n, array[c.id], true, c.replays from choice c
    returning job_ids into v_claimed;
    if clock_timestamp() - v_started > interval '700 us' then
        perform jobkit.skip_dead(array[v_key.grp], array[v_key.key]);
    end if;
    return v_claimed;
end
$$;
