-- Workers: live, asleep, lost and stopped ones.

-- Worker processes; the id is random for each start. The lease is judged by this server's clock
-- alone.
create table jobkit.workers (
    id bigint primary key,
    name text not null,
    queues text[] not null,
    slots integer[] not null default '{}',       -- jobs it runs at a time, queue by queue
    kinds text[] not null,
    started_at timestamptz not null default clock_timestamp(),
    heartbeat_at timestamptz not null default clock_timestamp(),
    lease interval not null,
    lease_until timestamptz not null,
    steady_since timestamptz not null default clock_timestamp(),  -- since when without a lapse
    stopping boolean not null default false,
    stop_requested_at timestamptz,
    -- In parallel to `queues` and `slots`: which entries share slots (those with the same number),
    -- their weights (null: strict order), and for patterns such as `mail*` what precedes the star.
    pools integer[] not null default '{}',
    weights integer[] not null default '{}',
    prefixes text[] not null default '{}',
    declaration bigint,                          -- of schedules; null: none
    zones text                                   -- release and source of its time zones
);
create index workers_serving on jobkit.workers (id) where not stopping;

-- Workers that wait for a notification. Only a hint, which polling makes up for, so it need not
-- survive a crash. A row is valid until `until`, so that a dead sleeper costs little.
create unlogged table jobkit.sleepers (
    worker_id bigint primary key,
    queues text[] not null,
    until timestamptz not null,
    prefixes text[] not null default '{}'
);

-- Workers whose lease lapsed: recorded by the reaper and kept for a day, so that operators learn of
-- them although their rows are gone.
create table jobkit.lost_workers (
    id bigint not null,
    name text not null,
    lost_at timestamptz not null default clock_timestamp(),
    jobs integer not null,                       -- jobs that it had claimed
    started_at timestamptz,
    heartbeat_at timestamptz,                    -- when it last renewed its lease
    primary key (lost_at, id)
);

-- Workers that stopped in order, also kept for a day.
create table jobkit.stopped_workers (
    id bigint not null,
    name text not null,
    started_at timestamptz not null,
    stopped_at timestamptz not null default clock_timestamp(),
    primary key (stopped_at, id)
);

-- When the last periodic sweep began, and how many unexplained finds all sweeps had.
create table jobkit.sweeps (
    one boolean primary key default true check (one),
    began_at timestamptz not null,
    found bigint not null default 0,
    followed_to bigint not null default 0        -- unique keys of jobs up to this were looked at
);
insert into jobkit.sweeps (began_at) values ('-infinity');
