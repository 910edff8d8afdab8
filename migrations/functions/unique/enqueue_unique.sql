-- enqueue_unique: enqueues jobs in one call when some of them have unique keys. Nobody holds the
-- key of a job that coalesces.
-- Returns, for each job in the order given, its job_id and `enqueued`, `existing` or `replaced`.
-- Refuses jobs that no claim would find or no worker could run (`wrong_with`), and invalid keys.
-- Waits only for open transactions that hold one of these keys, at any isolation level.
-- Runs as the owner: to judge a duplicate it reads and changes jobs, which producers may not do.
-- Why it takes keys in order and tries three ways: docs/decisions/0016-unique-jobs.md.
create or replace function jobkit.enqueue_unique(p jobkit.new_jobs)
returns table (job_id bigint, answer text)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
-- A session keeps its plans, even those made when there were few keys.
set enable_seqscan = off
set jit = off
as $$
declare
    v_how text;
    v_ids bigint[];
    v_answers text[];
begin
    perform jobkit.refuse(coalesce(min(w.of_job), min(w.of_key)))
    from (
        select jobkit.wrong_with(u.kind, u.queue, u.priority, u.max_attempts, u.grp, u.permit,
                u.dead_letter_key, u.args, u.metadata, u.version) as of_job, case
            when (u.scope is null) <> (u.key is null) or (u.while is null) <> (u.key is null)
                or (u.on_duplicate is null) <> (u.key is null or u.while = 'coalesce')
                or (u.key is null or u.while = 'coalesce') and u.term is not null
                then 'a unique key is incomplete, or has options that do not go with it'
            when octet_length(u.scope) not between 1 and 128 then
                'the group of a unique key must have 1 to 128 bytes, not ' || octet_length(u.scope)
            when octet_length(u.key) > 512 then
                'a key may have at most 512 bytes, not ' || octet_length(u.key)
            when u.while not in ('queued', 'running', 'unfinished', 'coalesce') then
                'a key must be unique while queued, running or unfinished, not ' || u.while
            when u.on_duplicate not in ('skip', 'replace', 'debounce', 'run_again') then
                'on_duplicate must be skip, replace, debounce or run_again, not ' || u.on_duplicate
            when u.on_duplicate = 'run_again' and (u.while <> 'unfinished' or u.term is not null)
                then 'run_again needs a key that is unique while unfinished, without a time to '
                    'keep it'
            when u.term not between '1 second' and '366 days' then
                'a key can be kept for 1 second to 366 days, not ' || u.term end as of_key
        from (
            select unnest(p.kind) as kind, unnest(p.queue) as queue, unnest(p.priority) as priority,
                unnest(p.max_attempts) as max_attempts, unnest(p.concurrency_group) as grp,
                unnest(p.concurrency_key) as permit, unnest(p.dead_letter_key) as dead_letter_key,
                unnest(p.args) as args, unnest(p.metadata) as metadata,
                unnest(p.version) as version, unnest(p.unique_scope) as scope,
                unnest(p.unique_key) as key, unnest(p.unique_while) as while,
                unnest(p.unique_for) as term, unnest(p.on_duplicate) as on_duplicate
        ) u
    ) w;
    -- A duplicate that is replaced does not pass `insert_jobs`, which checks these, too.
    perform jobkit.require_tags(p.tags) where array_remove(p.tags, null) <> '{}';
    perform jobkit.require_terms(p.terms) where array_remove(p.terms, null) <> '{}';
    if array_remove(p.on_duplicate, null) = '{}' then
        return query select e.id, 'enqueued' from jobkit.insert_jobs(p) as e (id);
        return;
    end if;
    foreach v_how in array case when cardinality(p.kind) > 1 then '{free,look}'::text[]
        else '{}' end
    loop
        begin
            select e.ids, e.answers into v_ids, v_answers
            from jobkit.enqueue_by_key(v_how, p) e;
            exit;
        exception when unique_violation then
            -- The keys taken so far are given back.
        end;
    end loop;
    if v_ids is null then
        select e.ids, e.answers into v_ids, v_answers
        from jobkit.enqueue_by_key('each', p) e;
    end if;
    return query select unnest(v_ids), unnest(v_answers);
end
$$;
revoke all on function jobkit.enqueue_unique from public;
