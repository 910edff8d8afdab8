-- How a step of the schema runs. If a long transaction blocks one of its locks, all enqueues would
-- wait behind us. So we wait for a moment, release our locks, and try again. One try in ten lasts
-- longer than `deadlock_timeout`: then the server ends a vacuum that is in the way.
do $patiently$
#variable_conflict use_column
begin
    for v_left in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', case when v_left % 10 = 5 then '1500ms'
                else '200ms' end, true);
{step}
            exit;
        exception when lock_not_available then
            if v_left = 0 then
                raise;
            end if;
        end;
        perform pg_sleep(1);
    end loop;
    perform set_config('lock_timeout', '60s', true);
end
$patiently$;
