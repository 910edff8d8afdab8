-- Queues that a worker follows by the beginning of their names, queues that share slots, and bounds
-- of backlogs.
-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            -- Beside `queues` and `slots`: which entries share slots (those of one number), their
            -- weights (null: strict order), and of those that are patterns, as `mail*`, what is
            -- before the star.
            alter table jobkit.workers
                add column pools integer[] not null default '{}',
                add column weights integer[] not null default '{}',
                add column prefixes text[] not null default '{}';
            alter table jobkit.sleepers add column prefixes text[] not null default '{}';
            exit;
        exception when lock_not_available then
            if tries = 0 then
                raise;
            end if;
        end;
        perform pg_sleep(1);
    end loop;
    perform set_config('lock_timeout', '60s', true);
end
$$;

-- Bounds: how many jobs may wait in a queue. Enqueues read the row of their queue and never lock
-- it; a worker looks every second (`look_at_bounds`). Most of the time the table is empty.
create table jobkit.bounds (
    queue text collate "C" primary key check (octet_length(queue) between 1 and 128),
    announced integer check (announced > 0),     -- as the worker that started last says
    override integer check (override > 0),       -- as an operator says; it goes before that
    -- Enqueues go in without a look until then: a few seconds after somebody found room, and never
    -- while the queue is full.
    open_until timestamptz not null default '-infinity',
    full_since timestamptz,
    waiting integer not null default 0,          -- at the last look; beyond the bound one more
    looked_at timestamptz,
    next_look timestamptz not null default 'epoch',
    check (num_nonnulls(announced, override) > 0)
) with (fillfactor = 50);
alter table jobkit.bounds set (autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1, vacuum_truncate = off);
