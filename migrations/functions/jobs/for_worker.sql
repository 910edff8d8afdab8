-- for_worker: a job in the form that the worker which claimed it gets. It is inlined.
create or replace function jobkit.for_worker(j jobkit.jobs) returns jobkit.claimed
language sql as $$
    select row(j.id, jobkit.versioned(j.kind, j.version), j.queue,
        j.priority operator(pg_catalog.*) 2 operator(pg_catalog.+) 7,
        j.attempt operator(pg_catalog.+) 1, j.max_attempts, j.crashes, j.snoozes, j.created_at,
        j.cancel_requested_at is not null, j.concurrency_key is not null, j.args, j.tags,
        j.metadata, j.terms, pg_catalog.clock_timestamp() operator(pg_catalog.-) least(
            greatest(j.run_at, j.created_at, 'epoch'), pg_catalog.clock_timestamp()),
        case when j.dead_letter_id is null then j.batch_id else jobkit.held_batch(j.dead_letter_id)
            end, null
    )::jobkit.claimed
$$;
