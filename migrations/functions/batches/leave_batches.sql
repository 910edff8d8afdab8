-- leave_batches: records that members ended. It only inserts: no end waits for another one.
--   p_batches  the batch of each member; null for a job that is none
create or replace function jobkit.leave_batches(p_batches bigint[], p_outcome text) returns void
language sql as $$
    insert into jobkit.batch_tallies (batch_id, outcome, jobs)
    select b.id, p_outcome, count(*) from unnest(p_batches) as b (id)
    where b.id is not null group by b.id
$$;
