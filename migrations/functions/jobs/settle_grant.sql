-- settle_grant: gives the permits that a settle freed to the next jobs. This worker claims them as
-- p_next, as far as it has room; the others become ready. Returns both as `settle` does.
create or replace function jobkit.settle_grant(
    p_worker bigint, p_next bigint, p_groups text[], p_keys text[], p_freed integer[],
    p_queues text[], p_room integer[]
) returns table (job_id bigint, ending text, queue text, priority smallint, job jobkit.jobs)
language plpgsql as $$
declare
    v_unblocked constant bigint[] := array(
        select jobkit.grant_permits(p_groups, p_keys, p_freed)
    );
    v_claimed bigint[];                          -- the jobs that are claimed
    v_row record;
    v_queues text[] := '{}';                     -- queues that got a ready job
begin
    if p_next is not null and v_unblocked <> '{}' then
        v_claimed := jobkit.hand_over(p_worker, p_next, v_unblocked, p_queues, p_room);
    end if;
    if v_claimed <> '{}' then
        return query
        select j.id, 'claim', j.queue::text, j.priority::smallint, j
        from jobkit.jobs j where j.id = any (v_claimed);
    end if;
    if cardinality(v_unblocked) > coalesce(cardinality(v_claimed), 0) then
        for v_row in
            select * from jobkit.unblock(
                array(select unnest(v_unblocked) except select unnest(v_claimed)))
        loop
            v_queues := v_queues || v_row.queue;
            return query
            select v_row.job_id, 'unblock', v_row.queue, v_row.priority, null::jobkit.jobs;
        end loop;
        perform jobkit.wake(v_queues, p_worker);
    end if;
end
$$;
