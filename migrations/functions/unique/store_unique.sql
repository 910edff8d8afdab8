-- store_unique: stores a job that has a unique key or coalesces, for a client that has checked it.
-- If the caller may write to the tables, the job is due at once and its key is free, statements for
-- a single job do it; otherwise `enqueue_unique` decides.
-- It runs with the rights and the search_path of the caller, since setting one would cost something
-- in each call; so every name in it has its schema.
create or replace function jobkit.store_unique(
    p jobkit.new_job, out job_id bigint, out answer text
)
language plpgsql as $$
begin
    if p.delay is null and p.run_at is null
        and (p.concurrency_group is not null or p.concurrency_key is null)
        and pg_catalog.has_table_privilege('jobkit.jobs'::pg_catalog.regclass, 'insert')
        and pg_catalog.has_table_privilege('jobkit.unique_keys'::pg_catalog.regclass, 'insert')
    then
        job_id := pg_catalog.nextval('jobkit.jobs_id_seq');
        answer := 'enqueued';
        if p.on_duplicate is not null then
            insert into jobkit.unique_keys as u (scope, key, job_id, held_until)
            values (p.unique_scope, p.unique_key, store_unique.job_id,
                pg_catalog.statement_timestamp() operator(pg_catalog.+) p.unique_for)
            on conflict do nothing
            returning u.job_id into job_id;
        end if;
    end if;
    if job_id is not null then
        job_id := jobkit.store_one(p, job_id);
    else
        select e.job_id, e.answer into job_id, answer
        from jobkit.enqueue_unique(jobkit.new_jobs_of(p)) as e;
    end if;
end
$$;
