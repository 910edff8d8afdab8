-- Kinds that a worker has announced: defaults for `jobkit.enqueue`, and what decides about their
-- jobs where no worker does.
create table jobkit.kinds (
    kind text primary key,
    queue text not null,
    priority smallint not null,
    max_attempts smallint not null,
    retention interval,
    concurrency_group text collate "C",
    concurrency_limit integer,
    auto_replay interval,                        -- how long after a failure; null: never
    max_cycles integer not null default 0,       -- … until it was buried so often
    redact text[] not null default '{}',         -- paths of the payload that are not shown
    announced_at timestamptz not null default clock_timestamp(),
    key_optional boolean not null default false, -- whether a job may come without a concurrency key
    expires interval,                            -- how long after its time a job may still begin
    retry_for interval,                          -- how long after its first failure it is retried
    retention_discarded interval,                -- how long one is kept that did not succeed
    encrypt text[] not null default '{}',        -- paths of the payload that are stored sealed
    takes_text boolean                           -- whether a payload may be a string; null: unknown
);
