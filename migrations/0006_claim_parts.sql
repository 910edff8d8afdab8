-- claim_keyed: the part of a claim that waits for other transactions: `wait`, but for no semaphore
-- longer than 100 ms. Then the jobs of the keys that are in other hands go back to ready, and the
-- claim has the others. Returns the jobs it does without. Those are tried in order, so that two
-- claims do not refuse each other their keys; a deadlock would end with the 2 ms.
create function jobkit.claim_keyed(p_jobs bigint[], p_queues text[], p_kinds text[])
returns bigint[]
language plpgsql
set lock_timeout = '100ms'
as $$
declare
    v_key record;
    v_free bigint[] := '{}';
    v_held bigint[] := '{}';
begin
    return jobkit.wait(p_jobs, p_queues, p_kinds);
exception when lock_not_available then
    perform set_config('lock_timeout', '2ms', true);
    for v_key in
        select j.concurrency_group as grp, j.concurrency_key as key, array_agg(j.id) as jobs
        from jobkit.jobs j where j.id = any (p_jobs) group by 1, 2 order by 2, 1
    loop
        begin
            perform jobkit.create_semaphores(array[v_key.grp], array[v_key.key]);
            v_free := v_free || v_key.jobs;
        exception when lock_not_available then
            v_held := v_held || v_key.jobs;
        end;
    end loop;
    insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
    select j.queue, j.priority, j.id, j.kind, j.concurrency_group, j.concurrency_key
    from jobkit.jobs j where j.id = any (v_held);
    if v_free = '{}' then
        return v_held;
    end if;
    return v_held || jobkit.wait(v_free, p_queues, p_kinds);
end
$$;

-- claim_within: cuts a claim down to a number of bytes of payload, but to no less than one job: of
-- the first queue first, each in the order of priority, then permit, then age. The rest goes back
-- to ready, with its permits: by now every job with a key has one. A ready row without a job is
-- gone.
-- Returns what stays, whether dead letters are replayed by it, and how many had no job.
-- Payloads are stored uncompressed: their stored size is their size.
create function jobkit.claim_within(
    p_ids bigint[], p_queues text[], p_budget bigint,
    out ids bigint[], out replays boolean, out gone integer
)
language plpgsql as $$
begin
    with picked as materialized (
        select j.id, j.queue, j.priority, j.kind, j.concurrency_group, j.concurrency_key,
            j.dead_letter_id, row_number() over w = 1
            or sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0)) over w
                <= p_budget as fits
        from jobkit.jobs j where j.id = any (p_ids)
        window w as (order by array_position(p_queues, j.queue), j.priority,
            j.concurrency_key is null, j.id)
    ), returned as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select p.queue, p.priority, p.concurrency_key is null, p.id, p.kind,
            p.concurrency_group, p.concurrency_key
        from picked p where not p.fits
    )
    select coalesce(array_agg(p.id) filter (where p.fits), '{}'),
        coalesce(bool_or(p.dead_letter_id is not null) filter (where p.fits), false),
        cardinality(p_ids) - count(*)
    into ids, replays, gone from picked p;
end
$$;
