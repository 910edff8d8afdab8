-- Operations: an action on everything that matches a filter, done page by page by whichever worker
-- comes first, and resumed by any other after a crash. It ends, since it covers only jobs up to the
-- highest id at its beginning, and dead letters that had failed by then. An enqueue gets its id
-- before its transaction commits: a job with a lower id, whose transaction is open at the
-- beginning, matches if it commits before its page is done.
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
    total bigint,                                -- how many match; null: not counted to the end
    counted bigint not null default 0,           -- how many of these have been counted
    up_to bigint not null,                       -- the last job that matches
    until timestamptz not null,                  -- the last failure that matches
    after_id bigint not null default 0,          -- the place where the next page begins
    after_at timestamptz not null default '-infinity',
    batch bigint[] not null default '{}',        -- jobs of the current page
    tries integer not null default 0,            -- how often it was tried
    done bigint not null default 0,
    asked bigint not null default 0,             -- running ones of these: asked to stop
    skipped bigint not null default 0,
    error text,
    audit_id bigint,                             -- the entry of its beginning
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    stepped_at timestamptz,                      -- when it last made progress
    ended_at timestamptz,
    -- The pace: jobs or dead letters per second, to spare the services that their jobs call; and
    -- when the next step may begin.
    per_second integer check (per_second between 1 and 1000000),
    next_at timestamptz
);
create index operations_open on jobkit.operations (id) where ended_at is null;

-- What an operation could not do: the first 1,000 entries.
create table jobkit.operation_results (
    operation_id bigint not null references jobkit.operations on delete cascade,
    subject_id bigint not null,                  -- job or dead letter
    outcome text not null,
    primary key (operation_id, subject_id)
);
