-- Jobs that have ended, by the day on which they expire.

-- Ended jobs, partitioned by the day they expire, so that dropping a partition is exact.
create table jobkit.finished (
    job_id bigint not null,
    kind text not null,
    queue text not null,
    priority smallint not null,
    outcome text not null check (outcome in
        ('finish', 'discard', 'cancel', 'expire', 'supersede', 'coalesce')),
    attempt integer not null,
    max_attempts smallint not null,
    snoozes integer not null,
    created_at timestamptz not null,
    run_at timestamptz not null,
    finished_at timestamptz not null,
    took interval,
    worker_id bigint,
    concurrency_group text,
    concurrency_key text,
    dead_letter_id bigint,                       -- the dead letter it replayed
    reason text,                                 -- why it was discarded or cancelled
    errors jsonb,                                -- the failed attempts, oldest first
    args json not null,
    tags text[],
    metadata jsonb,
    expires_at timestamptz not null,
    version smallint,
    result json,                                 -- what it returned
    terms jsonb,
    primary key (job_id, expires_at)
) partition by range (expires_at);

-- The partitions of `finished`: a job expires on a day listed here (`expiry`). With a default
-- partition this table would not be needed, but detaching a day would wait for every reader.
create table jobkit.finished_days (
    day date primary key
);
-- Ended jobs that did not succeed: few compared with those that did.
create index finished_discarded on jobkit.finished (job_id)
    where outcome not in ('finish', 'cancel');
create index finished_cancelled on jobkit.finished (job_id) where outcome = 'cancel';
