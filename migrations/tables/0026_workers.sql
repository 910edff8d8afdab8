-- Workers: who is there, who is asleep, who was lost.

-- Worker processes; the id is random for each start. The lease is judged by this clock alone.
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
    stop_requested_at timestamptz
);

-- Workers that wait for a notification. A pure hint that polling makes up for, so it need not
-- survive a crash; a row is good until `until`, so that a dead sleeper costs nothing for long.
create unlogged table jobkit.sleepers (
    worker_id bigint primary key,
    queues text[] not null,
    until timestamptz not null
);

-- Workers whose lease lapsed: noted by who reaps them, and kept for a day, so that operators hear
-- of them although their rows are gone.
create table jobkit.lost_workers (
    id bigint not null,
    name text not null,
    lost_at timestamptz not null default clock_timestamp(),
    jobs integer not null,                       -- it had in hand
    primary key (lost_at, id)
);

-- Queue tables turn over completely: vacuum early, and never truncate, which would take an
-- exclusive lock against claims for the sake of pages that fill again at once.
do $$
declare
    v_table text;
begin
    foreach v_table in array array['jobs', 'ready', 'scheduled', 'claims', 'workers', 'attempts',
                                   'sleepers', 'semaphores', 'permits', 'blocked_executions']
    loop
        execute format('alter table jobkit.%I set (autovacuum_vacuum_scale_factor = 0.02, '
            'autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05, '
            'autovacuum_vacuum_cost_delay = 1, vacuum_truncate = off)', v_table);
    end loop;
end
$$;
