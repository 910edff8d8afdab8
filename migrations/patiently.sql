-- How a step of the schema runs. Where somebody's long transaction is in the way of its locks,
-- everybody who enqueues would wait behind us: so we wait for a moment, give back what we have, and
-- try again.
do $patiently$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
{step}
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
$patiently$;
