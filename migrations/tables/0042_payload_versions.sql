-- The version of a payload; null: 1, which is all there was before.
-- Where a name is looked for by the workers that know it, it says the version from the second on
-- (`versioned`): in `kind` of `ready` and of `blocked_executions`, and in `kinds` of `workers`. So
-- a claim compares one column as before, and an older binary leaves alone what it does not know.
-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            alter table jobkit.jobs add column version smallint;
            alter table jobkit.dead_letters add column version smallint;
            alter table jobkit.finished add column version smallint;
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
