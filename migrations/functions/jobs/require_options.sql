-- require_options: refuses jobs that no claim finds or no worker runs (`wrong_with`), whichever way
-- they come. All arrays but the first four and p_args may be empty: what is missing is null.
create or replace function jobkit.require_options(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_group text[], p_key text[], p_dead_letter_key text[], p_args text[],
    p_metadata jsonb[] default '{}', p_version smallint[] default '{}'
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.refuse(min(w.wrong))
    from (
        select jobkit.wrong_with(i.kind, i.queue, i.priority, i.max_attempts, i.grp, i.key,
            i.dead_letter_key, i.args, i.metadata, i.version) as wrong
        from (
            select unnest(p_kind) as kind, unnest(p_queue) as queue,
                unnest(p_priority) as priority, unnest(p_max_attempts) as max_attempts,
                unnest(p_group) as grp, unnest(p_key) as key,
                unnest(p_dead_letter_key) as dead_letter_key, unnest(p_args) as args,
                unnest(p_metadata) as metadata, unnest(p_version) as version
        ) i
    ) w
    where w.wrong is not null;
end
$$;
