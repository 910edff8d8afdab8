-- hand_over: claims jobs that just got permits for the worker whose settle freed these, as far as
-- it has room: the next job of a key costs no call and no commit. Returns the jobs it claimed, with
-- at most 8 MiB of payload.
-- Not claimed are jobs that may have crashed a worker, that have a limit or a rate (only claims
-- begin them), or that have a reserved slot (a claim dates it).
-- Never waits for the worker's row: a reaper that holds it waits for the claims that we hold.
create or replace function jobkit.hand_over(
    p_worker bigint, p_n bigint, p_jobs bigint[], p_queues text[], p_room integer[]
) returns bigint[]
language plpgsql as $$
declare
    v_claimed bigint[];
begin
    with fitting as (
        select j.id, j.dead_letter_id,
            p_room[array_position(p_queues, j.queue)] as room,
            row_number() over (partition by j.queue order by j.priority, j.id) as place,
            sum(jobkit.payload_size(j)) over (order by j.priority, j.id) as size
        from (
            select w.kinds from jobkit.workers w
            where w.id = p_worker and w.lease_until > clock_timestamp() and not w.stopping
            for key share skip locked
        ) w
        join jobkit.jobs j on j.id = any (p_jobs) and j.crashes < 2
            and jobkit.versioned(j.kind, j.version) = any (w.kinds)
            and not exists (select from jobkit.limiting(j.queue, j.kind))
            and not exists (select from jobkit.permits h where h.job_id = j.id and h.metered)
    ), claimed as (
        insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
        select p_worker, p_n, array_agg(f.id), true, bool_or(f.dead_letter_id is not null)
        from fitting f where f.place <= f.room and f.size <= 8 * 1024 * 1024
        having count(*) > 0
        returning job_ids
    )
    select c.job_ids into v_claimed from claimed c;
    return v_claimed;
end
$$;
