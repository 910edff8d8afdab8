-- join_batches: keeps batches from ending until the caller's transaction has ended, and records the
-- members that it adds. Fails if one has ended. Waits only for the look that would end it
-- (`end_batch`).
--   p_batches, p_ids  the batch of each job, and its id; null leaves a job out
create or replace function jobkit.join_batches(p_batches bigint[], p_ids bigint[]) returns void
language plpgsql as $$
declare
    v_batches constant bigint[] := array(
        select distinct b.id from unnest(p_batches) as b (id) where b.id is not null order by 1);
    v_open constant bigint[] := array(
        select b.id from jobkit.batches b
        where b.id = any (v_batches) and b.ended_at is null order by b.id for key share
    );
begin
    if v_open <> v_batches then
        raise exception 'jobkit: batch % has ended, or never existed',
            (select min(b.id) from unnest(v_batches) as b (id) where b.id <> all (v_open))
            using errcode = 'JK011', hint = 'Enqueue these jobs as a batch of their own.';
    end if;
    insert into jobkit.batch_tallies (batch_id, outcome, jobs)
    select b.id, 'add', count(*) from unnest(p_batches, p_ids) as b (id, job)
    where b.id is not null and b.job is not null group by b.id;
end
$$;
