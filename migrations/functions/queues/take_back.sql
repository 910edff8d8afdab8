-- take_back: makes ready jobs wait for a permit again if they hold one that would not be granted
-- now: their key is paused, or no worker serves them. Their permits pass to the next jobs. Returns
-- how many there were.
create or replace function jobkit.take_back(p_jobs bigint[]) returns integer
language plpgsql as $$
declare
    v_key record;
    v_taken bigint[];
    v_freed record;
begin
    select * into v_key from jobkit.lock_semaphores(p_jobs);
    with gone as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select h.at from jobkit.jobs j
            cross join lateral (
                select (s.paused_until > clock_timestamp()) is true as paused
                from jobkit.semaphores s where s.concurrency_group = j.concurrency_group
                    and s.concurrency_key = j.concurrency_key offset 0
            ) s
            cross join lateral (
                select q.ctid as at from jobkit.ready q
                where q.queue = j.queue and q.priority = j.priority
                    and not q.without_permit and q.job_id = j.id
                    and (s.paused or not exists (select from jobkit.serving(q.queue, q.kind)))
                for update skip locked
            ) h
            where j.id = any (p_jobs) and (j.concurrency_group, j.concurrency_key) in (
                select * from unnest(v_key.groups, v_key.keys)
            )
        ))
        returning r.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_taken from gone g;
    select * into v_freed from jobkit.signal(v_taken, v_key.groups, v_key.keys);
    perform jobkit.block(v_taken);
    perform jobkit.grant_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);
    return cardinality(v_taken);
end
$$;
