-- What operators ask of workers, and what remains of them afterwards.

-- stop_worker: asks a worker to stop; it learns this with its next heartbeat. outcome: `stop`,
-- `already` (it was asked before, or is stopping anyway) or `missing`.
create or replace function jobkit.stop_worker(
    p_worker bigint, p_actor text default null, out outcome text
)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_worker jobkit.workers;
begin
    perform jobkit.require_read_committed();
    select * into v_worker from jobkit.workers w where w.id = p_worker for no key update;
    if not found then
        outcome := 'missing';
    elsif v_worker.stopping or v_worker.stop_requested_at is not null then
        outcome := 'already';
    else
        outcome := 'stop';
        update jobkit.workers w set stop_requested_at = clock_timestamp() where w.id = p_worker;
        perform jobkit.note(p_actor, 'stop', 'worker', p_worker, '{}', v_worker.name);
    end if;
end
$$;
