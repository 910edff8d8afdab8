-- What a discard was that no handler and no operator asked for. Older binaries know three outcomes:
-- `finished.outcome` stays what they read.
-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            -- expire, supersede or coalesce; null: what `outcome` says.
            alter table jobkit.finished add column ended_as text;
            alter table jobkit.measures drop constraint measures_outcome_check;
            alter table jobkit.measures add constraint measures_outcome_check check (outcome in (
                'finish', 'retry', 'snooze', 'bury', 'discard', 'cancel', 'expire', 'supersede'
            )) not valid;
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
