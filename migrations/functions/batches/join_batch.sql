-- join_batch: keeps a batch from ending until the caller's transaction has ended, and records the
-- members that it adds. Fails if it has ended. Waits only for the look that would end it
-- (`end_batch`).
--   p_ids  the new members; null for what is none
create or replace function jobkit.join_batch(p_batch bigint, p_ids bigint[]) returns void
language plpgsql as $$
begin
    perform from jobkit.batches b where b.id = p_batch and b.ended_at is null for key share;
    if not found then
        raise exception 'jobkit: batch % has ended, or never existed', p_batch
            using errcode = 'JK011', hint = 'Enqueue these jobs as a batch of their own.';
    end if;
    insert into jobkit.batch_tallies (batch_id, outcome, jobs)
    select p_batch, 'add', count(*) from unnest(p_ids) as j (id)
    where j.id is not null having count(*) > 0;
end
$$;
