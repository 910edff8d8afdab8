-- new_jobs_of: one job in the form of many.
create or replace function jobkit.new_jobs_of(p jobkit.new_job) returns jobkit.new_jobs
language sql stable as $$
    select row(
        array[p.kind], array[p.queue], array[p.priority], array[p.max_attempts], array[p.args],
        array[p.delay], array[p.run_at], array[p.concurrency_group], array[p.concurrency_key],
        array[p.dead_letter_key], array[pg_catalog.to_jsonb(p.tags)], array[p.metadata],
        array[p.version], array[p.unique_scope], array[p.unique_key], array[p.unique_while],
        array[p.unique_for], array[p.on_duplicate], array[p.terms]
    )::jobkit.new_jobs
$$;
