-- Limiters: rates that running jobs ask for a slot of, as a group of concurrency keys that no job
-- is of.

-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 80.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.concurrency_groups in exclusive mode;
            alter table jobkit.concurrency_groups add column limiter boolean not null default false;
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

-- Slots that are too far away to wait for, and kept for the job that comes back. One that its job
-- missed, that lies in a pause, or was given by another rate (`every`), counts for nothing.
create table jobkit.kept_slots (
    concurrency_group text collate "C" not null,
    concurrency_key text collate "C" not null,
    job_id bigint not null,
    slot_at timestamptz not null,
    every interval not null,
    primary key (concurrency_group, concurrency_key, job_id)
);
create index kept_slots_last on jobkit.kept_slots (concurrency_group, concurrency_key, slot_at);
