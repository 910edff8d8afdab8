-- enqueue_by_key: does the work of `enqueue_unique`. Returns ids and answers.
--   p_how  free: takes all keys in one statement, and fails with 23505 if any is taken
--          look: takes all free keys in one statement, then handles the duplicates. By then it
--          holds keys that come later in the order, so it waits for nobody: if it would have to, or
--          if another session is faster, it fails with 23505
--          each: takes one key after the other
create or replace function jobkit.enqueue_by_key(
    p_how text, p jobkit.new_jobs, out ids bigint[], out answers text[]
)
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_new constant bigint[] := array(
        select nextval('jobkit.jobs_id_seq') from generate_series(1, cardinality(p.kind))
    );
    v_keys text[] := p.unique_key;
    v_new_one jobkit.new_jobs;
    v_met record;
    v_asked timestamptz;                         -- when the job is to run
    i integer;
begin
    if 'coalesce' = any (p.unique_while) then
        -- Nobody holds the key of a job that coalesces.
        v_keys := array(
            select case when u.while <> 'coalesce' then u.key end
            from unnest(p.unique_key, p.unique_while) with ordinality as u (key, while, at)
            order by u.at
        );
    end if;
    -- Null where the id is not known yet.
    ids := case when p_how = 'each' then array(
            select case when n.key is null then n.id end
            from unnest(v_new, v_keys) with ordinality as n (id, key, at) order by n.at
        ) else jobkit.take_free_keys(
            p.unique_scope, v_keys, v_new, p.unique_for, p_how = 'look') end;
    answers := array_fill('enqueued'::text, array[cardinality(p.kind)]);
    if array_remove(ids, null) <> '{}' then perform jobkit.insert_jobs(p, ids); end if;
    if array_position(ids, null) is null then
        return;
    end if;
    for i in
        select u.at
        from unnest(ids, p.unique_scope, p.unique_key) with ordinality as u (id, scope, key, at)
        where u.id is null order by u.scope collate "C", u.key collate "C", u.at
    loop
        select * into v_met from jobkit.take_key(p.unique_scope[i], p.unique_key[i], v_new[i],
            p.kind[i], v_now + p.unique_for[i], p.on_duplicate[i], p_how = 'each');
        if v_met.answer is null then
            raise unique_violation using message = 'jobkit: a key is in other hands';
        end if;
        v_asked := coalesce(clock_timestamp() + p.delay[i], p.run_at[i]);
        perform jobkit.require_time(v_asked);
        if v_met.answer in ('enqueued', 'parked') then
            v_new_one := jobkit.new_jobs_at(p, i);
            v_new_one.delay := '{}';
            v_new_one.run_at := array[case when v_met.answer = 'parked' then jobkit.parked()
                else v_asked end];
            perform jobkit.insert_jobs(v_new_one, v_new[i:i],
                p_bounded => v_met.answer = 'enqueued');
        elsif v_met.answer in ('replaced', 'repeated') then
            if p.on_duplicate[i] in ('replace', 'run_again') then
                update jobkit.jobs j set args = p.args[i]::json, version = p.version[i],
                    metadata = p.metadata[i], terms = p.terms[i],
                    concurrency_key = p.concurrency_key[i],
                    concurrency_group = case when p.concurrency_key[i] is not null
                        then p.concurrency_group[i] end,
                    dead_letter_key = p.dead_letter_key[i], tags = case when p.tags[i] is not null
                        then array(select jsonb_array_elements_text(p.tags[i])) end
                where j.id = v_met.job_id;
                delete from jobkit.steps s where s.job_id = v_met.job_id;
            end if;
            perform jobkit.put_back(v_met.job_id, coalesce(v_asked, v_now))
            where v_met.answer = 'replaced';
        end if;
        -- When a follower is to run. A duplicate that changes nothing else may have it run sooner.
        update jobkit.jobs j set due_since = v_asked
        where j.id = v_met.job_id and j.due_since is distinct from v_asked and (
            v_met.answer in ('parked', 'repeated') or v_met.answer = 'existing'
            and j.run_at = jobkit.parked() and j.due_since > coalesce(v_asked, v_now));
        ids[i] := v_met.job_id;
        answers[i] := case v_met.answer when 'parked' then 'enqueued'
            when 'repeated' then 'replaced' else v_met.answer end;
    end loop;
end
$$;
