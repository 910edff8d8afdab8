-- Jobs without attempts left end where they are claimed: nobody looks for them any more. (Step 24
-- says that `recover` does, by this index.)
-- To drop it takes all of `jobs`. Where somebody's long transaction is in the way, everybody who
-- enqueues would wait behind us: so we wait for a moment, and try again. `queues` comes first, as
-- in every claim and settle: none of them is between two tables then.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            drop index if exists jobkit.jobs_exhausted;
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
