-- enqueue_all: stores jobs (`new_jobs`) in one call, and returns their ids in the order given. It
-- only inserts, at any isolation level: it waits for nobody, and nobody waits for it. It sets ids
-- and times, and runs as the owner, for roles that may only enqueue.
create or replace function jobkit.enqueue_all(p jobkit.new_jobs) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform jobkit.refuse('jobs with a unique key are enqueued by enqueue_unique')
    where array_remove(p.unique_key, null) <> '{}';
    return query select jobkit.insert_jobs(p, p_checked => false);
end
$$;
revoke all on function jobkit.enqueue_all from public;
