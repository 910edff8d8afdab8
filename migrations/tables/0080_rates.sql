-- Rates: how often jobs of a concurrency key may begin; and pauses of keys.
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
                add column tat timestamptz, add column paused_until timestamptz;
            -- metered: has yet to take a slot of its key's rate (`reserved_slots`).
            alter table jobkit.permits add column metered boolean;
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

-- Keys of which time alone makes room, or that are forgotten then. A table, not a column with an
-- index: that would be a part of what every keyed job costs, with a rate or without.
create table jobkit.due_keys (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    due_at timestamptz not null,
    primary key (concurrency_group, concurrency_key)
);
create index due_keys_due on jobkit.due_keys (due_at);

-- Slots kept for jobs that are ready with a permit and have yet to begin. One without that permit
-- counts for nothing.
create table jobkit.reserved_slots (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    job_id bigint not null,
    primary key (concurrency_group, concurrency_key, job_id)
);
