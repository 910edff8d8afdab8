-- require_options: refuses jobs that no claim would find or no worker could run (`wrong_with`), for
-- every way to enqueue.
create or replace function jobkit.require_options(p jobkit.new_jobs) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.refuse(min(w.wrong))
    from (
        select jobkit.wrong_with(i.kind, i.queue, i.priority, i.max_attempts, i.grp, i.key,
            i.dead_letter_key, i.args, i.metadata, i.version) as wrong
        from (
            select unnest(p.kind) as kind, unnest(p.queue) as queue,
                unnest(p.priority) as priority, unnest(p.max_attempts) as max_attempts,
                unnest(p.concurrency_group) as grp, unnest(p.concurrency_key) as key,
                unnest(p.dead_letter_key) as dead_letter_key, unnest(p.args) as args,
                unnest(p.metadata) as metadata, unnest(p.version) as version
        ) i
    ) w
    where w.wrong is not null;
end
$$;
