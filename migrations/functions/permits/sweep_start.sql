-- sweep_start: before the sweep of a worker's start. Waits once for everybody who may have decided
-- without having seen that worker: what they leave behind is there for the sweep to find. While it
-- waits everybody waits behind it, so it gives up after p_patience milliseconds.
create or replace function jobkit.sweep_start(p_patience integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
    perform set_config('lock_timeout', p_patience::text, true);
    lock table jobkit.queues in exclusive mode;
end
$$;
