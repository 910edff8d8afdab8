-- Kinds that workers have announced: defaults for `jobkit.enqueue`, and settings that apply where
-- no worker decides.
create table jobkit.kinds (
    kind text primary key,
    queue text not null,
    priority smallint not null,
    max_attempts smallint not null,
    retention interval,
    concurrency_group text collate "C",
    concurrency_limit integer,
    auto_replay interval,                        -- how long after a failure; null: never
    max_cycles integer not null default 0,       -- … until it was buried this often
    redact text[] not null default '{}',         -- paths of the payload that are not shown
    announced_at timestamptz not null default clock_timestamp(),
    key_optional boolean not null default false, -- whether a concurrency key may be omitted
    expires interval,                            -- how long after its time a job may begin
    retry_for interval,                          -- how long after its first failure it is retried
    retention_discarded interval,                -- how long a job without success is kept
    encrypt text[] not null default '{}',        -- paths of the payload that are stored sealed
    takes_text boolean                           -- whether a payload may be a string; null: unknown
);
