-- What operators do and see: the audit, measures, operations on many.

-- audit: what operators did, written in the transaction that did it. Nothing is changed in it
-- later, but that the end of an operation fills in what came of it.
create table jobkit.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    actor text,                                  -- as the caller says; null: it did not
    action text not null,
    subject text not null,                       -- what kind of thing, …
    subject_id bigint,                           -- … which one; null: those of `detail`, …
    subject_name text,                           -- … or the one of this name
    detail jsonb
);

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
        outcome in ('finish', 'retry', 'snooze', 'bury', 'discard', 'cancel')
    ),
    count integer not null,
    run integer[] not null,
    wait integer[] not null,
    primary key (span, minute, queue, kind, outcome)
);
-- The rows of the current minute change with every heartbeat: room to do so in their page.
alter table jobkit.measures set (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1, vacuum_truncate = off);

-- Operations: an action on everything that a filter means, done page by page by whichever worker
-- comes first, and resumed by any other after a crash. It ends, since it means jobs up to the
-- highest id that is there at the beginning, and dead letters that failed by then. An id is given
-- out by the enqueue, before its transaction commits: a job with a lower id whose transaction is
-- open at the beginning is meant, if it commits before its page is done.
create table jobkit.operations (
    id bigint generated always as identity primary key,
    verb text not null check (verb in
        ('cancel', 'discard', 'reschedule', 'replay', 'discard_dead_letters', 'purge')),
    filter jsonb not null,                       -- of jobs or of dead letters
    reason text,                                 -- why; ended jobs have it in the history
    run_at timestamptz,                          -- of a reschedule; null: at once
    actor text,
    idempotency_key text not null unique check (octet_length(idempotency_key) between 1 and 128),
    state text not null default 'pending'
        check (state in ('pending', 'counting', 'running', 'done', 'cancelled', 'failed')),
    total bigint,                                -- how many are meant; null: not counted to the end
    counted bigint not null default 0,           -- how many of these have been counted
    up_to bigint not null,                       -- the last job that is meant
    until timestamptz not null,                  -- the last failure that is meant
    after_id bigint not null default 0,          -- the place where the next page begins
    after_at timestamptz not null default '-infinity',
    batch bigint[] not null default '{}',        -- jobs of the page in hand
    tries integer not null default 0,            -- how often it was tried
    done bigint not null default 0,
    asked bigint not null default 0,             -- of these, the running: asked to stop
    skipped bigint not null default 0,
    error text,
    audit_id bigint,                             -- the entry of its beginning
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    stepped_at timestamptz,                      -- when it last got further
    ended_at timestamptz
);
create index operations_open on jobkit.operations (id) where ended_at is null;

-- What did not go as asked: the first 1,000 of an operation.
create table jobkit.operation_results (
    operation_id bigint not null references jobkit.operations on delete cascade,
    subject_id bigint not null,                  -- job or dead letter
    outcome text not null,
    primary key (operation_id, subject_id)
);
