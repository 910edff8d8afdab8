-- enqueue_unique: enqueues jobs in one call when some of them have unique keys. Nobody holds the
-- key of a job that coalesces.
-- Returns, for each job in the order given, its job_id and `enqueued`, `existing` or `replaced`.
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
    perform jobkit.require_options(p);
    perform jobkit.require_unique(p);
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
