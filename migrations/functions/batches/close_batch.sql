-- close_batch: says that whoever opened the batch adds no more members: it ends once it is empty.
-- Closing it again changes nothing. Runs as the owner, for roles that may only enqueue.
create or replace function jobkit.close_batch(p_batch bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update jobkit.batches b set closed_at = clock_timestamp()
    where b.id = p_batch and b.closed_at is null;
    if found then
        insert into jobkit.batch_tallies (batch_id, outcome, jobs) values (p_batch, 'look', 0);
        perform jobkit.wake_due(clock_timestamp());
    elsif not exists (select from jobkit.batches b where b.id = p_batch) then
        perform jobkit.refuse('there is no batch ' || p_batch);
    end if;
end
$$;
revoke all on function jobkit.close_batch from public;
