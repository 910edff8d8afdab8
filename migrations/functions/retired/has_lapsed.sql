-- has_lapsed: for the workers of version 29, which ask it whether there is somebody to reap.
create or replace function jobkit.has_lapsed(p_worker jobkit.workers, p_lease interval)
returns boolean
language sql as $$
    select p_worker.lease_until < clock_timestamp()
$$;
