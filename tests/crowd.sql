-- A queue after a busy day: so many finished, ready, blocked and dead jobs as the settings crowd.*
-- say, a tenth as many scheduled as ready ones, a quarter of those after a failure; the statistics,
-- the audit and the operations that belong to them; and a worker, alive for a day, that holds the
-- permits for which the blocked jobs wait.

create function pg_temp.size(what text) returns integer
language sql as $$ select current_setting('crowd.' || what)::integer $$;

select jobkit.finished_prepare(3);

insert into jobkit.kinds (kind, queue, priority, max_attempts, retention, redact)
select 'kind_' || k, 'queue_' || k, 0, 20, '1 day',
    case when k = 3 then '{secret}' else '{}' end::text[]
from generate_series(0, 7) k;
insert into jobkit.limits (scope, name, code_running) values ('group', 'kind_7', 1);
insert into jobkit.workers (id, name, queues, slots, kinds, lease, lease_until)
select 7, 'elsewhere', array_agg('queue_' || k), array_agg(100), array_agg('kind_' || k),
    '1 day', now() + interval '1 day'
from generate_series(1, 7) k;

insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt, max_attempts,
    snoozes, created_at, run_at, finished_at, took, worker_id, reason, errors, args, tags,
    expires_at, batch_id)
select i, 'kind_' || i % 8, 'queue_' || i % 8, 0,
    case when i % 1000 = 1 then 'discard' when i % 1000 = 2 then 'cancel' else 'finish' end, 1, 20,
    0, t.at - interval '1 min', t.at - interval '1 min', t.at, i % 500 * interval '1 ms', 7,
    case when i % 1000 in (1, 2) then 'order ' || i || ' was returned' end,
    case when i % 100 = 1 then jsonb_build_array(jsonb_build_object('job_id', i, 'attempt', 1,
        'outcome', 'retry', 'error', 'timed out after ' || i || ' ms', 'ended_at', t.at)) end,
    jsonb_build_object('order_id', i, 'account', 'account-' || i % 1000),
    case when i % 50 = 0 then array['campaign'] end, now() + (i % 48 + 1) * interval '1 hour',
    case when i % 2 = 0 then 1 end
from generate_series(1, pg_temp.size('finished')) i
cross join lateral (
    select now() - (pg_temp.size('finished') - i) * interval '20 ms' as at offset 0
) t;

-- Live jobs, by where they are: the ids follow those of the finished ones.
create temporary table live on commit drop as
select pg_temp.size('finished') + row_number() over () as id, p.place, n as nth,
    case p.place when 'ready' then n % 8 when 'scheduled' then n % 8 else 7 end as number,
    case p.place when 'scheduled' then now() + n * interval '1 s'
        else now() - (p.size - n) * interval '10 ms' end as run_at,
    case when p.place in ('blocked', 'running') then 'account-'
        || case when n % 2 = 0 and p.place = 'blocked' then 0 else n % 100 end end as key
from (
    values ('running', 100), ('ready', pg_temp.size('ready')),
        ('scheduled', pg_temp.size('ready') / 10), ('blocked', pg_temp.size('blocked'))
) as p (place, size)
cross join lateral generate_series(0, p.size - 1) n;

insert into jobkit.jobs (id, kind, queue, priority, attempt, max_attempts, run_at, created_at,
    concurrency_group, concurrency_key, args, tags, batch_id)
select l.id, 'kind_' || l.number, 'queue_' || l.number, l.nth % 3 - 1,
    case when l.place = 'scheduled' and l.nth % 4 = 0 then 1 else 0 end, 20, l.run_at,
    least(l.run_at, now()), case when l.key is not null then 'kind_7' end, l.key,
    jsonb_build_object('order_id', l.id, 'account', 'account-' || l.nth % 1000),
    case when l.nth % 50 = 0 then array['campaign'] end, case when l.place = 'ready' then 1 end
from live l;
insert into jobkit.ready (queue, priority, job_id, kind)
select j.queue, j.priority, j.id, j.kind
from live l join jobkit.jobs j on j.id = l.id where l.place = 'ready';
insert into jobkit.scheduled (run_at, job_id, retrying)
select l.run_at, l.id, l.nth % 4 = 0 from live l where l.place = 'scheduled';
insert into jobkit.attempts (job_id, attempt, outcome, error, error_type, worker_id, ended_at, took)
select l.id, 1, 'retry', 'timed out after ' || l.id || ' ms', 'shop::Timeout', 7, now(), '5 s'
from live l where l.place = 'scheduled' and l.nth % 4 = 0;
insert into jobkit.claims (worker_id, n, job_ids, keyed)
select 7, 1, array_agg(l.id), true from live l where l.place = 'running';
insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
select l.id, 'kind_7', l.key from live l where l.place = 'running';
insert into jobkit.semaphores (concurrency_group, concurrency_key, taken, crowded)
select 'kind_7', l.key, 1, true from live l where l.place = 'running';
insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority, job_id, queue,
    kind, since)
select j.concurrency_group, j.concurrency_key, j.priority, j.id, j.queue, j.kind, j.run_at
from live l join jobkit.jobs j on j.id = l.id where l.place = 'blocked';
select setval(pg_get_serial_sequence('jobkit.jobs', 'id'), max(l.id)) from live l;

insert into jobkit.dead_letters (kind, key, state, job_id, queue, priority, max_attempts, reason,
    error, fingerprint, errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at,
    resolved_at, args, batch_id)
select 'kind_' || i % 8, case when i % 2 = 0 then 'account-' || i end,
    case when i % 10 = 9 then 'resolved' else 'open' end, -i, 'queue_' || i % 8, 0, 20,
    'exhausted', 'the bank said no to payment ' || i, left(md5((i % 400)::text), 16),
    jsonb_build_array(jsonb_build_object('job_id', -i, 'attempt', 20, 'outcome', 'bury', 'error',
        'the bank said no to payment ' || i, 'ended_at', t.at, 'took', '12 ms')),
    20, 20, 0, t.at, t.at, t.at, case when i % 10 = 9 then now() end,
    jsonb_build_object('order_id', i, 'account', 'account-' || i), 1
from generate_series(1, pg_temp.size('dead')) i
cross join lateral (
    select now() - (pg_temp.size('dead') - i) * interval '1 s' as at offset 0
) t;

-- All ready jobs, half of the ended ones and all dead letters are members of one batch.
insert into jobkit.batches (created_at, hold_dead, closed_at, ended_at)
select now() - interval '1 h', false, now(), case when i > 1 then now() end
from generate_series(1, 200) i;
insert into jobkit.batch_counts (batch_id, outcome, jobs)
with members as (
    select j.batch_id, 'live' as outcome from jobkit.jobs j where j.batch_id is not null
    union all
    select f.batch_id, f.outcome from jobkit.finished f where f.batch_id is not null
    union all
    select d.batch_id, 'bury' from jobkit.dead_letters d
)
select m.batch_id, 'add', count(*) from members m group by m.batch_id
union all
select m.batch_id, m.outcome, count(*) from members m where m.outcome <> 'live'
group by m.batch_id, m.outcome;

insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
select s.span, s.minute, 'queue_' || k, 'kind_' || k, o.outcome, 40,
    array_fill(0, array[15]) || '{3,7,20,6,3,1}', array_fill(0, array[5]) || '{1,4,20,9,4,2}'
from generate_series(0, 7) k
cross join (values ('finish'), ('retry')) as o (outcome)
cross join (
    select 1 as span, date_trunc('minute', now()) - m * interval '1 min' as minute
    from generate_series(1, 1440) m
    union all
    select 15, date_bin('15 min', now(), 'epoch') - m * interval '15 min'
    from generate_series(1, 672) m
) s;
insert into jobkit.audit (at, actor, action, subject, subject_name)
select now() - (pg_temp.size('dead') - i) * interval '1 s', 'alice', 'pause', 'queue',
    'queue_' || i % 8 from generate_series(1, pg_temp.size('dead')) i;
insert into jobkit.operations (verb, filter, actor, idempotency_key, state, total, up_to, until,
    ended_at)
select 'replay', '{"kind": "kind_3"}', 'alice', 'key-' || i, 'done', 100, 0, now(), now()
from generate_series(1, 200) i;
analyze;
