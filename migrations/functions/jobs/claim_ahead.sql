-- claim_ahead: of what a claim picked beyond the free slots of a queue (p_slots - p_ahead of each),
-- notes the jobs that wait in the worker for one as a claim of their own, p_n, with 1 MiB of
-- payload at most. Returns those, the others, which begin at once, and 0 as `gone` when there were
-- jobs that may not wait. They went back to ready: what has a concurrency key, since its permit
-- would wait as well; what coalesces, since a newer one may come; what is on its last
-- attempt, was with a worker that died, or is marked as cancelled.
create or replace function jobkit.claim_ahead(
    p_worker bigint, p_n bigint, p_ids bigint[], p_queues text[], p_slots integer[],
    p_ahead integer[], out ids bigint[], out ahead bigint[], out gone integer
)
language plpgsql as $$
declare
    v_beyond bigint[];                           -- has no slot
    v_replays boolean;
    v_returned bigint[];
    v_unfit boolean;
begin
    with placed as (
        select j.id, j.priority, j.dead_letter_id, m.may_wait,
            row_number() over (partition by j.queue order by m.may_wait, j.priority, j.id)
                > p_slots[q.number] - p_ahead[q.number] as beyond,
            pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0) as size
        from jobkit.jobs j
        cross join lateral (
            select j.concurrency_key is null and j.crashes = 0 and j.attempt + 1 < j.max_attempts
                and j.cancel_requested_at is null
                and j.unique_while is distinct from 'coalesce' as may_wait
        ) m
        cross join lateral (select array_position(p_queues, j.queue) as number) q
        where j.id = any (p_ids)
    ), fitting as (
        select b.id, b.dead_letter_id, b.may_wait,
            b.may_wait and sum(b.size) over w <= 1024 * 1024 as waits
        from placed b where b.beyond
        window w as (order by b.may_wait desc, b.priority, b.id)
    )
    select coalesce(array_agg(f.id), '{}'), array_agg(f.id) filter (where f.waits),
        bool_or(f.dead_letter_id is not null) filter (where f.waits),
        array_agg(f.id) filter (where not f.waits), bool_or(not f.may_wait)
    into v_beyond, ahead, v_replays, v_returned, v_unfit from fitting f;
    insert into jobkit.claims (worker_id, n, job_ids, replays, ahead)
    select p_worker, p_n, ahead, v_replays, true where ahead is not null;
    ids := array(select unnest(p_ids) except select unnest(v_beyond));
    gone := case when v_unfit then 0 end;
    if v_returned is not null then
        -- The holders of permits keep them.
        perform jobkit.make_ready(array_agg(j.id), j.held)
        from (
            select u.id, exists (select from jobkit.permits p where p.job_id = u.id) as held
            from unnest(v_returned) as u (id)
        ) j
        group by j.held;
    end if;
end
$$;
