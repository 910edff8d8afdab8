-- What a job returned, and whether somebody waits for the end of one.
-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            alter table jobkit.jobs add column awaited boolean;
            alter table jobkit.finished add column result json;
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
