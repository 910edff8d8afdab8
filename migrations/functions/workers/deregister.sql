-- deregister: ends a worker. Any worker may reap its remaining claims.
create or replace function jobkit.deregister(p_worker bigint) returns void
language plpgsql as $$
begin
    with gone as (
        delete from jobkit.workers w where w.id = p_worker returning w.id, w.name, w.started_at
    )
    insert into jobkit.stopped_workers (id, name, started_at)
    select g.id, g.name, g.started_at from gone g;
    delete from jobkit.sleepers where worker_id = p_worker;
end
$$;
