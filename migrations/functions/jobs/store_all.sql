-- store_all: `enqueue_all` for a client that has looked at the jobs (`wrong_with`). Whoever may
-- write to the tables is spared a second look, but for half a key: one would stop its queue.
create or replace function jobkit.store_all(p jobkit.new_jobs) returns setof bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if has_table_privilege('jobkit.jobs', 'insert') then
        return query select jobkit.insert_jobs(p, p_checked => p.concurrency_key = '{}');
    else
        return query select jobkit.enqueue_all(p);
    end if;
end
$$;
