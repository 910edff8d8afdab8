-- Brakes: what holds back the jobs of a queue, of a kind, or all. A row is there while something of
-- it is in force, so most of the time the table is empty. (That a queue is paused is in
-- `queues`.)
-- Who sets one changes it under the EXCLUSIVE lock of `queues`, behind every claim under way; a
-- claim locks the rows of the limits and rates that concern it, so that these claims take turns.
create table jobkit.brakes (
    scope text collate "C" not null check (scope in ('all', 'kind', 'queue')),
    name text collate "C" not null check (octet_length(name) <= 128),
    paused_at timestamptz,
    paused_by text,
    reason text,
    running_limit integer check (running_limit > 0),
    rate_count integer check (rate_count > 0),   -- so many within …
    rate_interval interval check (rate_interval > interval '0'),
    rate_burst integer check (rate_burst > 0),   -- … and so many at a time
    -- When the next would come, had all come at an even pace. It is ahead by what a burst took.
    next_at timestamptz not null default clock_timestamp(),
    primary key (scope, name),
    check (num_nulls(rate_count, rate_interval, rate_burst) in (0, 3))
);
-- The table is small, but a session that works has whole scans priced out, so that one plan serves
-- it for good: without an index that fits, that price would hide what a growing table costs.
create index brakes_paused on jobkit.brakes (name) where paused_at is not null;
create index brakes_limiting on jobkit.brakes (name)
    where num_nonnulls(running_limit, rate_count) > 0;
