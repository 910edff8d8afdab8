-- Element i of a histogram counts what took no longer than 0.1 ms × 2^((i - 1) / 2), and longer
-- than what element i - 1 counts; element 61 counts all that is longer. Zeros at the end are left
-- out.
-- Measures: what became of attempts, how long they ran, and how long their jobs had been due when
-- they began, by the minute. Workers count in memory and add what they counted with a heartbeat.
create table jobkit.measures (
    span smallint not null,                      -- so many minutes: 1, and 15 for longer views
    minute timestamptz not null,                 -- … from this one on: when it was added
    queue text not null,
    kind text not null,
    outcome text not null check (
        outcome in
        ('finish', 'retry', 'snooze', 'bury', 'discard', 'cancel', 'expire', 'supersede')
    ),
    count integer not null,
    run integer[] not null,
    wait integer[] not null,
    primary key (span, minute, queue, kind, outcome)
);
-- The rows of the current minute change with every heartbeat: room to do so in their page.
alter table jobkit.measures set (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1, vacuum_truncate = off);
