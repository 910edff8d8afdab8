-- What a kind says of the time of its jobs, for the functions that decide without a worker:
-- how long after its time a job may still begin, for how long after its first failure one is tried
-- again, and how long one is kept that was discarded or cancelled.
-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            alter table jobkit.kinds add column expires interval, add column retry_for interval,
                add column retention_discarded interval;
            alter table jobkit.dead_letters drop constraint dead_letters_reason_check,
                add constraint dead_letters_reason_check check (reason in
                    ('exhausted', 'out_of_time', 'dead', 'undecodable', 'crashed')) not valid;
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
