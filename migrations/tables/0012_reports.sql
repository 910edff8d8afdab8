-- What attempts say of themselves while they run, and where their next attempt goes on. No job's
-- row is written for it, and none of its ways waits for it: what is left of a job that is gone goes
-- later (`report`, `prune_reports`, `prune_checkpoints`).

-- The progress and the last log lines of an attempt. One row for each of the last five of a job.
create table jobkit.reports (
    job_id bigint not null,
    attempt integer not null,
    worker_id bigint not null,
    began_at timestamptz not null,               -- of attempts of one number the latest stands
    done bigint,
    total bigint,                                -- null: nobody knows how much there is
    note text,
    progressed_at timestamptz,
    lines jsonb,                                 -- {at, level, target, text}, the oldest first
    primary key (job_id, attempt)
) with (fillfactor = 70);
create index reports_began on jobkit.reports (began_at);

-- Where a live job goes on when it runs again, in words of its own.
create table jobkit.checkpoints (
    job_id bigint primary key,
    value json not null,
    attempt integer not null,                    -- which attempt was there
    saved_at timestamptz not null
) with (fillfactor = 70);
