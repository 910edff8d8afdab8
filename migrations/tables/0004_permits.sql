-- Permits of concurrency keys, and the slots of their rates.

create domain jobkit.permit_count as integer check (value >= 0);

-- Concurrency keys with a permit taken, a job blocked or limits of their own, which an operator set
-- (`override_…`). The permits and blocked executions of a key change under the lock of its row.
create table jobkit.semaphores (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    taken jobkit.permit_count not null default 0,
    override_limit jobkit.permit_count,
    -- No blocked execution of the key comes before this one: a search for them may begin here.
    from_priority smallint not null default -3,
    from_id bigint not null default 0,
    crowded boolean not null default false,      -- whether a job may be blocked; false: none is
    override_rate interval,
    override_burst integer,
    tat timestamptz,                             -- theoretical arrival time (GCRA); null: at rest
    paused_until timestamptz,
    paused_for interval,                         -- so that a clock step back extends no pause
    primary key (concurrency_group, concurrency_key)
);

-- Permits held: by running jobs, and by ready jobs with `without_permit` = false.
create table jobkit.permits (
    job_id bigint primary key,
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    since timestamptz not null default clock_timestamp(),
    metered boolean                              -- it has yet to take a slot of its key's rate
);

-- Jobs that wait for a permit of their key, in the order in which they get it.
create table jobkit.blocked_executions (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    priority smallint not null,
    job_id bigint not null,
    queue text not null,
    kind text not null,
    since timestamptz not null default clock_timestamp(),
    primary key (concurrency_group, concurrency_key, priority, job_id)
);

-- Keys in which time alone makes room, or which can be deleted then. A table and not an indexed
-- column, which would cost something for every keyed job, with a rate or without.
create table jobkit.due_keys (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    due_at timestamptz not null,
    primary key (concurrency_group, concurrency_key)
);
create index due_keys_due on jobkit.due_keys (due_at);

-- Slots reserved for ready jobs that hold a permit and have yet to begin. Without the permit, the
-- slot does not count.
create table jobkit.reserved_slots (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    job_id bigint not null,
    primary key (concurrency_group, concurrency_key, job_id)
);

-- Slots too far ahead to wait for, kept for a job that will ask again. One that the job missed,
-- that lies in a pause, or was given at another rate (`every`) does not count.
create table jobkit.kept_slots (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    job_id bigint not null,
    slot_at timestamptz not null,
    every interval not null,
    kept_at timestamptz not null default clock_timestamp(),
    primary key (concurrency_group, concurrency_key, job_id)
);
create index kept_slots_last on jobkit.kept_slots (concurrency_group, concurrency_key, slot_at);
