-- grant_timed: `grant_permits` for keys that have a rate or are paused, one by one. A key grants no
-- more than its free slots that are not reserved, and reserves one with each permit. If time alone
-- makes room, the key becomes due.
create or replace function jobkit.grant_timed(p_groups text[], p_keys text[], p_freed integer[])
returns setof bigint
language plpgsql as $$
declare
    v_key record;
    v_now timestamptz;
    v_jobs bigint[];
    v_taken integer;
    v_blocked boolean;
    v_pace record;
begin
    for v_key in
        select l.*, coalesce(k.freed, 0) as freed
        from unnest(p_groups, p_keys, p_freed) as k (grp, key, freed)
        cross join lateral (
            select * from jobkit.key_limits l
            where l.concurrency_group = k.grp and l.concurrency_key = k.key limit 1
        ) l
        where l.timed
    loop
        v_now := clock_timestamp();
        with choice as materialized (
            select b.ctid as at, b.job_id from jobkit.blocked_executions b
            where b.concurrency_group = v_key.concurrency_group
                and b.concurrency_key = v_key.concurrency_key
                and (b.priority, b.job_id) >= (v_key.from_priority, v_key.from_id)
                and exists (select from jobkit.serving(b.queue, b.kind))
            order by b.priority, b.job_id limit greatest(0, least(v_key.freed + 1000,
                v_key.effective_limit - v_key.taken + v_key.freed, v_key.reserved * -1
                + jobkit.room(v_key.rate, v_key.burst, v_key.tat, v_key.paused_until, v_now)))
        ), unblocked as (
            delete from jobkit.blocked_executions b
            where b.ctid = any (array(select c.at from choice c))
        ), permit as (
            insert into jobkit.permits (job_id, concurrency_group, concurrency_key, metered)
            select c.job_id, v_key.concurrency_group, v_key.concurrency_key,
                case when v_key.rate is not null then true end
            from choice c
        )
        select array(select c.job_id from choice c) into v_jobs;
        -- Slots reserved for jobs that have left are given up.
        delete from jobkit.reserved_slots r
        where r.concurrency_group = v_key.concurrency_group
            and r.concurrency_key = v_key.concurrency_key
            and not exists (select from jobkit.permits h where h.job_id = r.job_id and h.metered);
        insert into jobkit.reserved_slots
        select v_key.concurrency_group, v_key.concurrency_key, j.id
        from unnest(v_jobs) as j (id) where v_key.rate is not null
        on conflict do nothing;
        v_taken := v_key.taken - v_key.freed + cardinality(v_jobs);
        v_blocked := exists (
            select from jobkit.blocked_executions b
            where b.concurrency_group = v_key.concurrency_group
                and b.concurrency_key = v_key.concurrency_key
        );
        v_pace := jobkit.pace(v_key.concurrency_group, v_key.concurrency_key, v_now,
            v_key.reserved + cardinality(v_jobs), 0, v_taken, v_blocked);
        if v_taken = 0 and v_key.override_limit is null and not v_blocked and not v_pace.kept then
            delete from jobkit.semaphores s where s.ctid = v_key.at;
        else
            update jobkit.semaphores s set taken = v_taken, crowded = v_pace.crowded,
                tat = v_pace.tat, paused_until = v_pace.paused_until
            where s.ctid = v_key.at;
        end if;
        return query select unnest(v_jobs);
    end loop;
end
$$;
