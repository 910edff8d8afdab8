-- Schedules: jobs that recur. `times` says in words when; Rust computes the instants.

create table jobkit.schedules (
    name text primary key check (octet_length(name) between 1 and 128),
    times text not null check (octet_length(times) between 1 and 200),
    next_at timestamptz,                         -- the next instant to decide; null: there is none
    last_at timestamptz,                         -- the latest one decided: none up to it returns
    catch_up text not null check (catch_up in ('none', 'latest', 'all')),
    catch_up_max integer not null check (catch_up_max between 1 and 1000),
    catch_up_window interval not null,           -- both are for `all` alone
    overlap text not null check (overlap in ('allow', 'skip_if_running')),
    jitter interval not null check (jitter between '0' and '1 d'),
    jobs bigint[] not null default '{}',         -- its live jobs at the last look, for `overlap`
    -- What is enqueued, in the form of `enqueue_all`.
    kind text not null,
    version smallint,
    queue text not null,
    priority smallint not null,
    max_attempts smallint not null,
    concurrency_group text,
    concurrency_key text,
    dead_letter_key text,
    args json not null,
    tags text[],
    metadata jsonb,
    -- Who declared or changed it.
    declared_at timestamptz,                     -- last declared by a worker; null: by an operator
    edited text[] not null default '{}',         -- what operators changed: code leaves that alone
    created_at timestamptz not null default clock_timestamp(),
    paused_at timestamptz,
    paused_by text,
    pause_reason text,
    removed_at timestamptz,                      -- declared in code, and deleted by an operator
    removed_by text,
    declaration bigint                           -- the declaration it comes from
);
create index schedules_due on jobkit.schedules (next_at) where removed_at is null;

-- What became of each instant. Because of the primary key, none is fired twice.
create table jobkit.schedule_runs (
    schedule text not null,
    instant timestamptz not null,                -- when it was due; of `run now`, when that was
    job_id bigint,                               -- what was enqueued, or …
    skipped text check (skipped in ('missed', 'paused', 'running')),  -- … why nothing was
    since timestamptz,                           -- the row stands for all instants from this one on
    actor text,                                  -- who ran it by hand
    by_hand boolean not null default false,
    decided_at timestamptz not null default clock_timestamp(),
    primary key (schedule, instant),
    check ((job_id is null) <> (skipped is null))
);
create index schedule_runs_old on jobkit.schedule_runs (decided_at);

-- Which schedules a binary declares: an older one that restarts changes nothing back while a newer
-- one lives.
create table jobkit.declarations (
    id bigint generated always as identity primary key,  -- a later one is newer
    digest text not null unique,                 -- of all that one binary says of its schedules
    declared_at timestamptz not null default clock_timestamp()  -- when that was said first
);
