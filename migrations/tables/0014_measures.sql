-- Element i of a histogram counts what took at most 0.1 ms × 2^((i - 1) / 2), and longer than what
-- element i - 1 counts; element 61 counts everything longer. Zeros at the end are omitted.
-- Measures, by the minute: outcomes of attempts, how long they ran, and how long their jobs had
-- been due when they began. Workers count in memory and add their counts with a heartbeat.
create table jobkit.measures (
    span smallint not null,                      -- length in minutes: 1, and 15 for longer views
    minute timestamptz not null,                 -- the first minute, by when it was added
    queue text not null,
    kind text not null,
    outcome text not null,                       -- no CHECK: newer workers may have new words
    count integer not null,
    run integer[] not null,
    wait integer[] not null,
    primary key (span, minute, queue, kind, outcome)
);
-- The rows of the current minute change with every heartbeat: leave room for that in their page.
alter table jobkit.measures set (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1, vacuum_truncate = off);
