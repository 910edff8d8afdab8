-- claim_within: notes a claim of these jobs, cut down to a number of bytes of payload (p_budget),
-- but to no less than one job: of the first queue first, each in the order of priority, then
-- permit, then age. The rest goes back to ready, with its permits: by now every job with a key has
-- one. A ready row without a job is gone.
-- Returns what stays, and how many had no job.
-- Payloads are stored uncompressed: their stored size is their size.
create or replace function jobkit.claim_within(
    p_worker bigint, p_n bigint, p_keyed boolean, p_ids bigint[], p_queues text[],
    p_budget bigint, out ids bigint[], out gone integer
)
language plpgsql as $$
declare
    v_replays boolean;
    v_returned bigint[];
begin
    with picked as materialized (
        select j.id, j.dead_letter_id, row_number() over w = 1
            or sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0)) over w
                <= p_budget as fits
        from jobkit.jobs j where j.id = any (p_ids)
        window w as (order by array_position(p_queues, j.queue), j.priority,
            j.concurrency_key is null, j.id)
    )
    select coalesce(array_agg(p.id) filter (where p.fits), '{}'),
        array_agg(p.id) filter (where not p.fits),
        coalesce(bool_or(p.dead_letter_id is not null) filter (where p.fits), false),
        cardinality(p_ids) - count(*)
    into ids, v_returned, v_replays, gone from picked p;
    perform jobkit.make_ready(v_returned, true);
    insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
    select p_worker, p_n, ids, p_keyed, v_replays where ids <> '{}';
end
$$;
