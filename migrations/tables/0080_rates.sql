-- Rates: how often jobs of a concurrency key may begin, pauses of keys, and limiters within jobs.
-- `rate` is the time from one slot to the next, '0' says that there is none; `burst` is how many
-- slots may be taken at once after a rest.

-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            alter table jobkit.concurrency_groups
                add column default_rate interval, add column default_burst integer,
                add column override_rate interval, add column override_burst integer;
            -- tat: the theoretical arrival time of GCRA; no slot has been used when it has passed.
            alter table jobkit.semaphores
                add column override_rate interval, add column override_burst integer,
                add column tat timestamptz, add column paused_until timestamptz,
                add column due_at timestamptz;   -- when time alone makes room, or it is forgotten
            create index semaphores_due on jobkit.semaphores (due_at) where due_at is not null;
            -- metered: has yet to take a slot of its key's rate, which is kept for it.
            alter table jobkit.permits add column metered boolean;
            create index permits_metered on jobkit.permits (concurrency_group, concurrency_key)
                where metered;
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

-- Limiters: slots of a rate that jobs take while they run.
create table jobkit.limiters (
    name text collate "C" primary key check (octet_length(name) between 1 and 128),
    default_rate interval not null,
    default_burst integer not null,
    override_rate interval,
    override_burst integer,
    tat timestamptz,
    paused_until timestamptz
);
