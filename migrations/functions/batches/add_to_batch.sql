-- add_to_batch: enqueues jobs as members of a batch. Returns what `enqueue_unique` returns: a job
-- that was there already is no member.
--   p_member  the running member that adds them, or the replay of one that keeps the batch open;
--             null: whoever opened the batch
--   p_close   whether to close the batch as well
-- Waits only for a look at the batch. Runs as the owner, for roles that may only enqueue.
create or replace function jobkit.add_to_batch(
    p_batch bigint, p jobkit.new_jobs, p_member bigint default null, p_close boolean default false
) returns table (job_id bigint, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    v_batch jobkit.batches;
begin
    perform jobkit.join_batch(p_batch, '{}');
    -- Not the version that was locked: it may have been closed since the statement began.
    select * into v_batch from jobkit.batches b where b.id = p_batch;
    if v_batch.cancelled_at is not null or v_batch.closed_at is not null and not exists (
        select from jobkit.jobs j where j.id = p_member
            and p_batch in (j.batch_id, jobkit.held_batch(j.dead_letter_id))
    ) then
        raise exception 'jobkit: batch % was %', p_batch, case
            when v_batch.cancelled_at is not null then 'cancelled' else 'closed' end
            using errcode = 'JK011', hint = 'Add jobs before you close the batch, or from a job '
                'that is a member of it.';
    end if;
    p.batch_id := p_batch;
    return query select e.job_id, e.answer from jobkit.enqueue_unique(p) e;
    if p_close then
        perform jobkit.close_batch(p_batch);
    end if;
end
$$;
revoke all on function jobkit.add_to_batch from public;
