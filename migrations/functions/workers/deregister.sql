-- deregister: a worker ends. Its claims, if any are left, are then anybody's to reap.
create or replace function jobkit.deregister(p_worker bigint) returns void
language plpgsql as $$
begin
    delete from jobkit.workers where id = p_worker;
    delete from jobkit.sleepers where worker_id = p_worker;
end
$$;
