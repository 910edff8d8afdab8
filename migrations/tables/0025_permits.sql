-- Permits of concurrency keys, and what limits and pauses them.

-- Queues an operator has paused, or paused once. Whoever claims or grants holds a ROW SHARE lock of
-- this table and the next; a pause, a resume or a change of a group's limit takes one of them in
-- EXCLUSIVE mode, so nothing decided before it commits after it.
create table jobkit.queues (
    name text primary key check (octet_length(name) between 1 and 128),
    paused_at timestamptz,
    paused_by text,
    reason text,
    resumed_at timestamptz
);

-- Groups of concurrency keys. The limit of a key: the override of its own, else that of its group,
-- else what the worker that started last said of the group.
create table jobkit.concurrency_groups (
    name text collate "C" primary key check (octet_length(name) between 1 and 128),
    default_limit integer not null check (default_limit > 0),
    override_limit integer check (override_limit >= 0),
    changed_at timestamptz not null default clock_timestamp()
);

create domain jobkit.permit_count as integer check (value >= 0);

-- Concurrency keys with a permit taken, a job blocked or an override. Its row is the lock under
-- which the permits and the blocked executions of a key change.
create table jobkit.semaphores (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    taken jobkit.permit_count not null default 0,
    override_limit jobkit.permit_count,
    -- No blocked execution of the key comes before this one: where a search for them may begin.
    from_priority smallint not null default -3,
    from_id bigint not null default 0,
    crowded boolean not null default false,      -- whether one may be blocked; false: none is
    primary key (concurrency_group, concurrency_key)
);

-- Permits held: by running jobs, and by jobs that are ready with `without_permit` = false.
create table jobkit.permits (
    job_id bigint primary key,
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    since timestamptz not null default clock_timestamp()
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

-- When the last periodic sweep began, and how much all of them found that nothing explained.
create table jobkit.sweeps (
    one boolean primary key default true check (one),
    began_at timestamptz not null,
    found bigint not null default 0
);
insert into jobkit.sweeps (began_at) values ('-infinity');
