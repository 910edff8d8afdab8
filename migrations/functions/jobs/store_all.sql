-- store_all: `enqueue_all` for a client that has checked the jobs (`wrong_with`). Callers that may
-- write to the tables skip a second check, except of a key without its group: that would stop its
-- queue.
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
