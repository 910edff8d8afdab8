-- count_batch: how many members were added to a batch (`add`), are dead letters that keep it open
-- (`hold`), and ended with each outcome.
create or replace function jobkit.count_batch(p_batch bigint)
returns table (outcome text, jobs bigint)
language sql stable as $$
    select c.outcome, sum(c.jobs)::bigint
    from (
        select c.outcome, c.jobs from jobkit.batch_counts c where c.batch_id = p_batch
        union all
        select t.outcome, t.jobs from jobkit.batch_tallies t where t.batch_id = p_batch
    ) c
    group by c.outcome having sum(c.jobs) <> 0
$$;
