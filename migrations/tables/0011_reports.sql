-- What attempts report while they run, and where their next attempt continues. Reports write no
-- job's row and block no transition: what remains of a job that is gone is removed later (`report`,
-- `prune_reports`, `prune_steps`).

-- The progress and last log lines of an attempt: one row for each of a job's last five attempts.
create table jobkit.reports (
    job_id bigint not null,
    attempt integer not null,
    worker_id bigint not null,
    began_at timestamptz not null,               -- of attempts with one number the latest counts
    done bigint,
    total bigint,                                -- null: unknown
    note text,
    progressed_at timestamptz,
    lines jsonb,                                 -- {at, level, target, text}, the oldest first
    primary key (job_id, attempt)
) with (fillfactor = 70);
create index reports_began on jobkit.reports (began_at);

-- Values that a job keeps for its next attempts, in its own format: what its steps returned, by
-- name, and its checkpoint, which has none.
create table jobkit.steps (
    job_id bigint not null,
    name text collate "C" not null,
    value json not null,
    attempt integer not null,                    -- the attempt that got there
    saved_at timestamptz not null,
    primary key (job_id, name)
) with (fillfactor = 70);
