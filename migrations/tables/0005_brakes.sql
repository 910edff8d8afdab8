-- Brakes: what holds back the jobs of a queue, of a kind, or all. A row exists while something in
-- it is in force, so the table is usually empty. (Whether a queue is paused is in `queues`.)
-- Brakes are set under the EXCLUSIVE lock of `queues`, after all claims in progress. A claim locks
-- the rows of the limits and rates that apply to it, so that such claims take turns.
create table jobkit.brakes (
    scope text collate "C" not null check (scope in ('all', 'kind', 'queue')),
    name text collate "C" not null check (octet_length(name) <= 128),
    paused_at timestamptz,
    paused_by text,
    reason text,
    running_limit integer check (running_limit > 0),
    rate_count integer check (rate_count > 0),   -- this many within …
    rate_interval interval check (rate_interval > interval '0'),
    rate_burst integer check (rate_burst > 0),   -- … and this many at the same time
    -- When the next job is due if all come at an even pace. A burst moves it ahead.
    next_at timestamptz not null default clock_timestamp(),
    primary key (scope, name),
    check (num_nulls(rate_count, rate_interval, rate_burst) in (0, 3))
);
-- The table is small, but a working session adds a cost to whole scans, so that one plan serves it
-- for good: without a matching index, that cost would hide what a growing table costs.
create index brakes_paused on jobkit.brakes (name) where paused_at is not null;
create index brakes_limiting on jobkit.brakes (name)
    where num_nonnulls(running_limit, rate_count) > 0;
