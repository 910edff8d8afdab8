-- sweep_start: precedes the sweep of a starting worker. Waits once for every session that may have
-- decided without seeing that worker, so that the sweep finds what they leave behind. Others queue
-- behind this wait, so it gives up after p_patience milliseconds.
create or replace function jobkit.sweep_start(p_patience integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
    perform set_config('lock_timeout', p_patience::text, true);
    lock table jobkit.limits in exclusive mode;
end
$$;
