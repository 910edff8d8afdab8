-- lock_jobs: locks these jobs in the order of their ids, the order for several jobs, after claims
-- and semaphores (`signal`, `withdraw`). Returns them as they are then, in the order of dead
-- letters, in which they must end.
create or replace function jobkit.lock_jobs(p_jobs bigint[]) returns setof jobkit.jobs
language plpgsql as $$
begin
    perform from jobkit.jobs j where j.id = any (p_jobs) order by j.id for update;
    return query
    select * from jobkit.jobs j where j.id = any (p_jobs)
    order by j.kind, j.dead_letter_key, j.dead_letter_id, j.id;
end
$$;
