-- What the specs share: a stage, calls of the installed functions that answer with one text, and a
-- verdict. No spec has SQL of jobkit's in it.

create schema scene;

-- clear: an empty stage. Jobs are numbered from 1; workers 1 to 3 serve the queues `default` and
-- `other`; the keys of the group `g` have this limit.
create function scene.clear(p_limit integer) returns void
language plpgsql as $$
begin
    delete from jobkit.jobs;
    delete from jobkit.ready;
    delete from jobkit.scheduled;
    delete from jobkit.claims;
    delete from jobkit.permits;
    delete from jobkit.blocked_executions;
    delete from jobkit.semaphores;
    delete from jobkit.attempts;
    delete from jobkit.dead_letters;
    delete from jobkit.workers;
    delete from jobkit.limits;
    perform setval('jobkit.jobs_id_seq', 1, false);
    perform setval('jobkit.dead_letters_id_seq', 1, false);
    perform jobkit.announce_limits(jsonb_build_array(jsonb_build_object(
        'scope', 'group', 'name', 'g', 'running', p_limit)));
    for v_worker in 1 .. 3 loop
        perform scene.register(v_worker);
    end loop;
end
$$;

create function scene.register(p_worker bigint) returns void
language sql as $$
    select jobkit.register(p_worker, 'w', array['default', 'other'], array['act'], '1 day')
$$;

create function scene.enqueue(p_count integer, p_queue text default 'default') returns text
language sql as $$
    select string_agg(e::text, ' ' order by e) from jobkit.enqueue_all(jobkit.new_jobs(
        array_fill('act'::text, array[p_count]), array_fill(p_queue, array[p_count]),
        array_fill(0::smallint, array[p_count]), array_fill(3::smallint, array[p_count]),
        array_fill('{}'::text, array[p_count]),
        p_concurrency_group => array_fill('g'::text, array[p_count]),
        p_concurrency_key => array_fill('k'::text, array[p_count]))) e
$$;

-- lettered: jobs that share a dead-letter key and nothing else.
create function scene.lettered(p_count integer) returns text
language sql as $$
    select string_agg(e::text, ' ' order by e) from jobkit.enqueue_all(jobkit.new_jobs(
        array_fill('act'::text, array[p_count]), array_fill('default'::text, array[p_count]),
        array_fill(0::smallint, array[p_count]), array_fill(3::smallint, array[p_count]),
        array_fill('{}'::text, array[p_count]),
        p_dead_letter_key => array_fill('d'::text, array[p_count]))) e
$$;

-- claim: the jobs a worker gets, at most so many of each queue.
create function scene.claim(
    p_worker bigint, p_n bigint, p_slots integer default 1, p_queues text[] default '{default}'
) returns text
language sql as $$
    select coalesce(string_agg(c.job_id::text, ' ' order by c.job_id), 'nothing')
    from jobkit.claim(p_worker, p_n, array['act'], p_queues,
        array_fill(p_slots, array[cardinality(p_queues)])) c
    where c.job_id is not null
$$;

-- next: number of the claim under which a settle takes what it unblocks; none where no worker has
-- room for it.
create sequence scene.claims start 10000;
create function scene.next() returns bigint
language sql as $$
    select null::bigint
$$;

-- settle: the outcome of these jobs; what did not go as asked, and what became ready.
create function scene.settle(p_worker bigint, p_n bigint, p_outcome text, p_jobs bigint[])
returns text
language sql as $$
    select coalesce(string_agg(s.ending || ' ' || s.job_id, ', ' order by s.ending, s.job_id), '')
    from jobkit.settle(p_worker, jobkit.outcomes(array_fill(p_n, array[cardinality(p_jobs)]),
        p_jobs, array_fill(p_outcome, array[cardinality(p_jobs)]),
        p_error => array_fill('because'::text, array[cardinality(p_jobs)])), scene.next(),
        '{default,other}', '{9,9}') s
$$;

-- finish: all jobs of a claim, as far as it is there.
create function scene.finish(p_worker bigint, p_n bigint) returns text
language sql as $$
    select scene.settle(c.worker_id, c.n, 'finish', c.job_ids) from jobkit.claims c
    where c.worker_id = p_worker and c.n = p_n
$$;

create function scene.bury(p_worker bigint, p_n bigint) returns text
language sql as $$
    select scene.settle(c.worker_id, c.n, 'bury', c.job_ids) from jobkit.claims c
    where c.worker_id = p_worker and c.n = p_n
$$;

create function scene.replay(p_letter bigint) returns text
language sql as $$
    select outcome from jobkit.replay(p_letter, 'somebody')
$$;

-- A page of an operation on all open dead letters that have failed by then.
create function scene.letters(p_verb text, p_until timestamptz) returns text
language sql as $$
    select cardinality(jobkit.take_dead_letters(p_verb, p.ids, '{open}', p_until))::text
    from jobkit.operation_page(jsonb_populate_record(null::jobkit.operations,
        jsonb_build_object('verb', p_verb, 'filter', '{"state": "open"}'::jsonb, 'until', p_until,
            'after_at', '-infinity', 'after_id', 0)), 1000) p
$$;

create function scene.replay_all() returns text
language sql as $$
    select 'replayed ' || scene.letters('replay', 'infinity')
$$;

create function scene.discard(p_letter bigint) returns text
language sql as $$
    select jobkit.discard_dead_letter(p_letter, 'somebody')
$$;

create function scene.purge() returns text
language sql as $$
    select 'purged ' || scene.letters('purge', clock_timestamp())
$$;

create function scene.cancel_mark(variadic p_jobs bigint[]) returns text
language sql as $$
    select 'marked ' || count(*) from jobkit.cancel_mark(p_jobs)
$$;

create function scene.cancel_take(variadic p_jobs bigint[]) returns text
language sql as $$
    select 'ended ' || count(*) from jobkit.cancel_take(p_jobs, 'cancel', 'unwanted')
$$;

create function scene.sweep() returns text
language sql as $$
    select 'unblocked ' || unblocked from jobkit.sweep('', '', 500)
$$;

-- problems: what must not be when nothing is going on.
create view scene.problems as
    select v.what, v.who from jobkit.violations v
    union all
    select 'more permits than the limit', s.concurrency_key
    from jobkit.semaphores s
    left join jobkit.limits g on g.scope = 'group' and g.name = s.concurrency_group
    where s.taken > coalesce(s.override_limit, g.running, g.code_running, 1)
    union all
    select 'a permit that waits in a paused queue', r.job_id::text
    from jobkit.ready r join jobkit.limits q on q.scope = 'queue' and q.name = r.queue
    where not r.without_permit and q.paused_at is not null;

-- verdict: what is wrong now, and what is once everything that can run has run: no job is left, and
-- none has left anything behind. p_also: what a spec itself found wrong. p_lowered: a limit was
-- lowered, and took no permit away.
create function scene.verdict(p_also text[] default '{}', p_lowered boolean default false)
returns text
language plpgsql as $$
declare
    v_found text[] := p_also || array(
        select p.what || ' (' || p.who || ')' from scene.problems p
        where not (p_lowered and p.what = 'more permits than the limit')
    );
begin
    perform scene.run_out();
    v_found := v_found
        || array(select p.what || ' (' || p.who || ') in the end' from scene.problems p)
        || array(select format('job %s never ran', j.id) from jobkit.jobs j);
    return 'verdict: ' || coalesce(nullif(array_to_string(v_found, '; '), ''), 'well');
end
$$;

-- run_out: runs what can be run. Only where a queue was paused is a sweep needed for that.
create function scene.run_out() returns void
language plpgsql as $$
begin
    if (
        select count(jobkit.resume_limit('queue', q.name)) from jobkit.limits q
        where q.scope = 'queue' and q.paused_at is not null
    ) > 0 then
        perform scene.sweep();
    end if;
    for v_n in 1000 .. 1020 loop
        perform jobkit.reap_claim(o.worker_id, o.n) from jobkit.orphaned_claims() o;
        perform scene.finish(c.worker_id, c.n) from jobkit.claims c;
        perform jobkit.promote(100);
        perform scene.claim(1, v_n, 100, array['default', 'other']);
    end loop;
end
$$;
