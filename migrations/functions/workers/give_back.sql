-- give_back: gives back jobs that just left the claims of a worker: those in p_crashed are charged
-- an attempt, the others are released. Returns how many there were.
create or replace function jobkit.give_back(
    p_worker bigint, p_jobs bigint[], p_crashed bigint[], p_error text
) returns integer
language plpgsql as $$
declare
    v_freed record;
    v_job jobkit.jobs;
    v_release jobkit.outcome;
    v_queues text[] := '{}';
begin
    v_release.outcome := 'release';
    select * into v_freed from jobkit.signal(p_jobs);
    for v_job in select * from jobkit.lock_jobs(p_jobs) loop
        v_queues := v_queues || v_job.queue;
        if v_job.id = any (p_crashed) then
            perform jobkit.crash(v_job, p_worker, p_error);
        else
            perform jobkit.settle_one(v_job, p_worker, v_release);
        end if;
    end loop;
    perform jobkit.grant_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues);
    end if;
    return cardinality(v_queues);
end
$$;
