-- The statements of a binary of version 29, each under its name.

-- @ audit_list
-- A page of what operators did, the newest first: of the next 10,000 entries those that fit, and
-- the entry after which the next page begins, null after the last. A payload stands apart, with
-- what its kind redacts.
-- $1 before this entry, null for the beginning; $2 how many at most; null for any: $3 actor,
-- $4 action, $5 subject, $6 its id, $7 its name
with looked_at as materialized (
    select a.id, a.actor, a.action, a.subject, a.subject_id, a.subject_name
    from jobkit.audit a where a.id < coalesce($1::bigint, 9223372036854775807)
    order by a.id desc limit 10000
), page as materialized (
    select l.id from looked_at l
    where ($3::text is null or l.actor = $3) and ($4::text is null or l.action = $4)
        and ($5::text is null or l.subject = $5) and ($6::bigint is null or l.subject_id = $6)
        and ($7::text is null or l.subject_name = $7)
    order by l.id desc limit $2
)
select n.next, a.id, a.at, a.actor, a.action, a.subject, a.subject_id, a.subject_name,
    coalesce(a.detail - 'args', 'null') as detail, (a.detail -> 'args')::text as args, k.redact
from (
    select case when (select count(*) from page) = $2 then (select min(p.id) from page p)
        when (select count(*) from looked_at) = 10000 then (select min(l.id) from looked_at l)
    end as next
) n
left join (page p join jobkit.audit a on a.id = p.id) on true
left join jobkit.dead_letters d on a.subject = 'dead_letter' and d.id = a.subject_id
left join jobkit.kinds k on k.kind = coalesce(a.detail ->> 'kind', d.kind)
order by a.id desc

-- @ audit_prune
-- prune: removes old entries of the audit, the oldest first; returns how many.
-- $1 how long they are kept, $2 how many at most
select jobkit.prune_audit($1, $2)

-- @ blocked_first
-- The blocked jobs of a key, in the order in which they get permits; 100 at most.
-- $1 group, $2 key
select b.job_id, b.kind, b.queue, b.priority, b.since
from jobkit.blocked_executions b
where b.concurrency_group = $1 and b.concurrency_key = $2
order by b.priority, b.job_id limit 100

-- @ claims_jobs
-- The jobs that a claim lists.
-- $1 worker, $2 number
select unnest(job_ids) from jobkit.claims where worker_id = $1 and n = $2

-- @ claims_lost
-- The jobs of claims whose reply never arrived.
-- $1 worker, $2 number up to which its calls are concluded, $3 claims it holds
select unnest(job_ids) from jobkit.claims
where worker_id = $1 and n <= $2 and n <> all ($3::bigint[])

-- @ claims_orphaned
-- Claims whose worker is gone.
select worker_id, n from jobkit.orphaned_claims()

-- @ claims_reap
-- reap, second half: takes back one orphaned claim; returns how many jobs it held.
-- $1 worker, $2 number, $3 only these of its jobs, or null
select jobkit.reap_claim($1, $2, $3)

-- @ claims_release_lost
-- Gives back claims whose reply never arrived; returns how many jobs they held.
-- $1 worker, $2 number up to which its calls are concluded, $3 claims it holds, $4 lost calls that
-- asked for a single job, $5 only these of the jobs, or null
select jobkit.release_lost($1, $2, $3, $4, $5)

-- @ dead_letters_count
-- How many dead letters a filter means, of the newest 10,000 of those that an index finds; and
-- whether there are more of these.
-- $1 state; null for any: $2 kind, $3 queue, $4 key, $5 fingerprint, $6 failed before this, $7
-- failed after this
select count(*) filter (
        where ($2::text is null or l.kind = $2) and ($3::text is null or l.queue = $3)
            and ($5::text is null or l.fingerprint = $5)
    ) as number,
    count(*) > 10000 as more
from jobkit.dead_letters_before($1, $4, $5, coalesce($6::timestamptz, 'infinity'),
    -9223372036854775808, coalesce($7::timestamptz, '-infinity'), 10001) l

-- @ dead_letters_crashed
-- Dead letters of jobs that some workers had when they died, 1,000 at most.
-- $1 those made since then, $2 the workers
select d.job_id, d.kind, d.queue, d.attempt from jobkit.dead_letters d
where d.state = 'open' and d.failed_at >= $1 and d.reason = 'crashed' and d.worker_id = any ($2)
order by d.failed_at, d.id limit 1000

-- @ dead_letters_discard
-- discard: removes a dead letter for good, unless it is being replayed. Returns what came of it.
-- $1 dead letter, $2 actor
select jobkit.discard_dead_letter($1, $2)

-- @ dead_letters_discard_page
-- discard: removes a page of the dead letters that a filter means, the oldest failure first.
-- Returns how many, how many others had in hand, and where the next page begins, null after the
-- last.
-- null for any: $1 kind, $2 queue, $3 key, $4 fingerprint; $5 those that failed by this time,
-- $6 failed_at and $7 id after this place; $8 how many at most, $9 actor; $10 state, $11 what it
-- is called in the audit
select d.discarded, d.skipped, d.last_at, d.last_id
from jobkit.discard_page($10, $1, $2, $3, $4, $5, coalesce($6::timestamptz, '-infinity'), $7, $8,
    $9, $11) d

-- @ dead_letters_get
-- These dead letters with all that is kept of them, as far as there are any, the newest failure
-- first; times in their errors are microseconds.
-- $1 dead letters
select d.id, d.state, d.kind, d.queue, d.key, d.reason, left(d.error, 300) as error, d.fingerprint,
    d.cycles, d.attempts, d.first_failed_at, d.failed_at, d.error as full_error, d.generation,
    d.job_id, d.replay_id, d.replay_at, d.resolved_at, d.priority, d.max_attempts, d.attempt,
    d.snoozes, d.created_at, d.worker_id, d.concurrency_group, d.concurrency_key, d.tags,
    d.args::text as args, d.metadata::text as metadata, k.redact,
    jobkit.timed_errors(d.errors, d.job_id) as errors
from jobkit.dead_letters d
left join jobkit.kinds k on k.kind = d.kind
where d.id = any ($1)
order by d.failed_at desc, d.id desc

-- @ dead_letters_groups
-- The open dead letters by fingerprint, the group with the newest failure first. Of 300
-- fingerprints the newest entry is looked up; when there are more, those of the newest 10,000
-- entries are looked at, too. Of each group 1,001 entries at most are counted, in the index alone.
-- $1 how many groups at most
with recursive known as (
    (
        select 1 as n, d.fingerprint, d.failed_at from jobkit.dead_letters d
        where d.state = 'open'
        order by d.fingerprint desc, d.failed_at desc, d.id desc limit 1
    )
    union all
    select k.n + 1, e.fingerprint, e.failed_at
    from known k
    cross join lateral (
        select d.fingerprint, d.failed_at from jobkit.dead_letters d
        where d.state = 'open' and d.fingerprint < k.fingerprint
        order by d.fingerprint desc, d.failed_at desc, d.id desc limit 1
    ) e
    where k.n <= 300
), newest as (
    select d.fingerprint, d.failed_at from jobkit.dead_letters d
    where d.state = 'open' and (select count(*) from known) > 300
    order by d.failed_at desc, d.id desc limit 10000
)
select g.fingerprint, s.kind, least(c.number, 1000) as number, c.number > 1000 as more, s.id,
    left(s.error, 300) as error, c.first_failed_at, s.failed_at as last_failed_at,
    jobkit.dead_letters_lately(g.fingerprint) as lately
from (
    select e.fingerprint, max(e.failed_at) as failed_at
    from (select k.fingerprint, k.failed_at from known k union all table newest) e
    group by e.fingerprint order by max(e.failed_at) desc limit $1
) g
cross join lateral (select * from jobkit.dead_letters d where d.state = 'open'
    and d.fingerprint = g.fingerprint order by d.failed_at desc, d.id desc limit 1) s
cross join lateral (
    select count(*) as number, min(e.failed_at) as first_failed_at
    from (select d.failed_at from jobkit.dead_letters d where d.state = 'open'
        and d.fingerprint = g.fingerprint order by d.failed_at, d.id limit 1001) e
) c order by s.failed_at desc, s.id desc

-- @ dead_letters_list
-- A page of the dead letters that a filter means, the newest failure first: of the next 10,000
-- those that fit, each row with the place after which the next page begins, null after the last.
-- When none fits there is one row without a dead letter.
-- $1 state; null for any: $2 kind, $3 queue, $4 key, $5 fingerprint; $6 failed_at and $7 id of the
-- place before it, null for the beginning; $8 failed after this, null for any; $9 how many at most
with page as materialized (
    select l.id, l.failed_at
    from jobkit.dead_letters_before($1, $4, $5, coalesce($6::timestamptz, 'infinity'),
        coalesce($7, 9223372036854775807), coalesce($8::timestamptz, '-infinity'), 10000) l
    where ($2::text is null or l.kind = $2) and ($3::text is null or l.queue = $3)
        and ($5::text is null or l.fingerprint = $5)
    order by l.failed_at desc, l.id desc limit $9
), place as (
    select e.failed_at, e.id
    from (select count(*) = $9 as full from page) f
    left join lateral (
        (
            select p.failed_at, p.id from page p where f.full
            order by p.failed_at, p.id limit 1
        )
        union all
        (
            select l.failed_at, l.id
            from jobkit.dead_letters_before($1, $4, $5, coalesce($6::timestamptz, 'infinity'),
                coalesce($7, 9223372036854775807), coalesce($8::timestamptz, '-infinity'), 10000) l
            where not f.full order by l.failed_at desc, l.id desc offset 9999
        )
    ) e on true
)
select n.failed_at as next_at, n.id as next_id, d.id, d.state, d.kind, d.queue, d.key, d.reason,
    left(d.error, 300) as error, d.fingerprint, d.cycles, d.attempts, d.first_failed_at, d.failed_at
from place n
left join page p on true
left join jobkit.dead_letters d on d.id = p.id
order by p.failed_at desc, p.id desc

-- @ dead_letters_prune
-- prune: removes dead letters that were resolved longer ago than this; returns how many.
-- $1 how long they are kept, $2 how many at most
select jobkit.prune_resolved($1, $2)

-- @ dead_letters_replay
-- replay: makes a job of a dead letter, once. Returns what came of it, and which job it is.
-- $1 dead letter, $2 actor; null for as stored: $3 queue, $4 time, $5 payload, $6 attempts, $7 the
-- concurrency group and key that belong to the payload
select r.outcome, r.job_id from jobkit.replay($1, $2, $3, $4, $5, $6, $7) r

-- @ dead_letters_replay_due
-- replay: dead letters whose kind replays them by itself, once their time has come.
-- $1 how many at most
select jobkit.replay_due($1)

-- @ dead_letters_replay_page
-- replay: makes jobs of a page of the open dead letters that a filter means, the oldest failure
-- first. Returns how many, how many others had in hand, and where the next page begins, null after
-- the last.
-- null for any: $1 kind, $2 queue, $3 key, $4 fingerprint; $5 those that failed by this time,
-- $6 failed_at and $7 id after this place; $8 how many at most, $9 actor
select r.replayed, r.skipped, r.last_at, r.last_id
from jobkit.replay_page($1, $2, $3, $4, $5, coalesce($6::timestamptz, '-infinity'), $7, $8, $9) r

-- @ dead_letters_selected
-- These dead letters, as far as there are any, in the order of their ids.
-- $1 dead letters
select d.id, d.state, d.kind, d.queue, d.key, d.reason, left(d.error, 300) as error, d.fingerprint,
    d.cycles, d.attempts, d.first_failed_at, d.failed_at
from jobkit.dead_letters d where d.id = any ($1) order by d.id

-- @ dead_letters_until
-- The latest failure that a call over all dead letters means: by the server's clock, so that what
-- fails again while it runs is not met twice.
-- $1 how long ago, $2 no later than this, null for any
select least(clock_timestamp() - $1::interval, $2::timestamptz)

-- @ doctor_indexes
-- The indexes of our tables, and whether each can be used.
select c.relname::text as name, i.indisvalid and i.indisready as usable
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
where t.relnamespace = 'jobkit'::regnamespace and t.relname !~ '^finished_[0-9]{8}$'
order by 1 limit 1000

-- @ doctor_publications
-- Tables of ours in which a publication lets nothing be updated or deleted: they have no replica
-- identity. What is published is looked up for such tables only: the server lists all of it.
select c.relname::text as name
from pg_class c
left join pg_inherits i on i.inhrelid = c.oid
where c.relnamespace = 'jobkit'::regnamespace and c.relkind = 'r' and c.relreplident <> 'f'
    and not exists (
        select from pg_index x where x.indrelid = c.oid and x.indisvalid
            and case c.relreplident when 'd' then x.indisprimary else x.indisreplident end
    )
    and exists (
        select from pg_publication_tables p
        join pg_publication b on b.pubname = p.pubname and (b.pubupdate or b.pubdelete)
        join pg_class t on t.relname = p.tablename and t.relnamespace = c.relnamespace
        where p.schemaname = 'jobkit' and t.oid in (c.oid, i.inhparent)
    )
order by c.relname limit 100

-- @ doctor_sessions
-- What has kept row versions alive for more than a second that nobody else needs: transactions of
-- this database, the oldest first, and what no connection holds. `age` in microseconds, null where
-- it is not known; `xids` how many transactions began since.
-- No server version of ours shows the sessions of others to a role without pg_read_all_stats.
select * from (
    select 'session' as what, a.pid::text as name, a.usename::text as role, a.application_name,
        coalesce(a.state, a.backend_type) as state,
        (extract(epoch from now() - a.xact_start) * 1000000)::bigint as age,
        age(a.backend_xmin)::bigint as xids
    from pg_stat_activity a
    where a.datname = current_database() and a.backend_xmin is not null
        and a.backend_type in ('client backend', 'walsender') and a.pid <> pg_backend_pid()
        and a.xact_start < now() - interval '1 s'
    union all
    select 'prepared', p.gid, p.owner::text, null, null,
        (extract(epoch from now() - p.prepared) * 1000000)::bigint, age(p.transaction)::bigint
    from pg_prepared_xacts p
    where p.database = current_database()
    union all
    select 'slot', r.slot_name::text, null, null, case when r.active then 'active' end, null,
        age(r.xmin)::bigint
    from pg_replication_slots r
    where r.xmin is not null
) h
order by h.age desc nulls last, h.name limit 20

-- @ doctor_settings
-- Settings of the server that decide whether a commit survives, as they are in this session.
select s.name, s.setting from pg_settings s
where s.name in ('autovacuum', 'fsync', 'full_page_writes', 'synchronous_commit')
order by s.name

-- @ doctor_tables
-- The largest 100 of our tables: rows and dead row versions as far as the server counted them,
-- bytes with their indexes.
select t.relname::text as name, t.n_live_tup as live, t.n_dead_tup as dead,
    coalesce(pg_total_relation_size(t.relid), 0) as bytes
from pg_stat_user_tables t
where t.schemaname = 'jobkit'
order by 4 desc, 1 limit 100

-- @ doctor_upkeep
-- What the sweeps found that nothing explains; how many days of history the partitions are ahead (0
-- without one for tomorrow, null before the first worker has made any); how long ago the last sweep
-- was (null before the first), and how far the clock is behind the newest that it wrote, both in
-- microseconds.
select s.found, d.ahead, case when s.began_at > '-infinity' then
    (extract(epoch from clock_timestamp() - s.began_at) * 1000000)::bigint end as swept_ago,
    case when isfinite(n.newest) then
        (extract(epoch from n.newest - clock_timestamp()) * 1000000)::bigint end as behind
from jobkit.sweeps s
cross join (
    select case when bool_or(d.day = t.today + 1) then max(d.day) - t.today
        when count(d.day) > 0 then 0 end as ahead
    from (select (now() at time zone 'UTC')::date as today) t
    left join jobkit.finished_days d on true
    group by t.today
) d
cross join lateral (
    select greatest(
        nullif(s.began_at, '-infinity'),
        (select max(w.heartbeat_at) from jobkit.workers w),
        (select j.created_at from jobkit.jobs j order by j.id desc limit 1),
        (select a.at from jobkit.audit a order by a.id desc limit 1)
    ) as newest
) n

-- @ doctor_violations
-- What no committed state may have and this one has, by what it is: how often, and a few examples.
-- Reads whole tables.
select v.what, count(*) as number, (array_agg(v.who order by v.who))[1:5] as examples
from jobkit.violations v
group by v.what order by v.what limit 50

-- @ durability
-- How durable this session's commits are; start-up warns when an acknowledged job may be lost.
select current_setting('synchronous_commit')

-- @ finished_expired
-- prune: the expired partitions of `finished`, and the statements that remove each.
select day, detach, remove from jobkit.finished_expired()

-- @ finished_forget
-- prune: takes a removed day off the list of partitions.
-- $1 day
select jobkit.finished_forget($1)

-- @ finished_prepare
-- prune: makes the partitions of `finished` for the days to come.
-- $1 how many days
select jobkit.finished_prepare($1)

-- @ groups_announce
-- announce: the limits this binary says of its concurrency groups; returns those that changed.
-- $1 groups, $2 limits
select concurrency_group, old_limit, new_limit from jobkit.announce_limits($1, $2)

-- @ groups_limit
-- limit: an operator's limit for a concurrency group; returns whether the group is known.
-- $1 group, $2 limit or null, $3 actor
select jobkit.limit_group($1, $2, $3)

-- @ groups_list
-- The concurrency groups some worker has announced, in the order of their names.
select g.name, g.default_limit, g.override_limit from jobkit.concurrency_groups g order by g.name

-- @ jobs_ahead
-- explain: what stands before a waiting job. Every count ends at 10,000, and the jobs named as
-- holders of permits are ten at most.
-- $1 job, $2 queue, $3 priority, $4 whether it is ready without a permit (null: not ready),
-- $5 kind, $6 group, $7 key
select (
    select count(*) from (
        select from jobkit.ready r
        where r.queue = $2 and (r.priority, r.without_permit, r.job_id) < ($3, $4, $1)
        order by r.priority, r.without_permit, r.job_id limit 10000
    ) a
) as ahead, (
    select count(*) from (
        select from jobkit.workers w
        join jobkit.claims c on c.worker_id = w.id
        cross join unnest(c.job_ids) as u (id)
        cross join lateral (select j.queue from jobkit.jobs j where j.id = u.id offset 0) j
        where $2 = any (w.queues) and $5 = any (w.kinds) and not w.stopping
            and w.lease_until > clock_timestamp() and j.queue = $2 limit 10000
    ) a
) as running, b.place, b.blocked,
    coalesce(s.override_limit, g.override_limit, g.default_limit, 1) as effective,
    coalesce(s.taken, 0) as taken, array(
        select p.job_id from jobkit.permits p
        where p.concurrency_group = $6 and p.concurrency_key = $7 order by p.job_id limit 10
    ) as holders
from (
    select count(*) filter (where (f.priority, f.job_id) <= ($3, $1)) as place, count(*) as blocked
    from (
        select b.priority, b.job_id from jobkit.blocked_executions b
        where b.concurrency_group = $6 and b.concurrency_key = $7
        order by b.priority, b.job_id limit 10000
    ) f
) b
left join jobkit.semaphores s on s.concurrency_group = $6 and s.concurrency_key = $7
left join jobkit.concurrency_groups g on g.name = $6

-- @ jobs_cancel_mark
-- cancel, first half: the mark that ends jobs wherever they are next touched; returns those that
-- are live.
-- $1 jobs; for the audit $2 action, $3 actor, $4 detail
select * from jobkit.cancel_mark($1, $2, $3, $4)

-- @ jobs_cancel_take
-- cancel, second half: takes marked jobs from where they wait; returns those that have ended.
-- $1 jobs, $2 outcome, $3 reason
select * from jobkit.cancel_take($1, $2, $3)

-- @ jobs_claim
-- claim: takes ready jobs, by the primary key of `ready`.
-- $1 worker, $2 number of the call, $3 kinds known, $4 queues, $5 free slots of each, $6 low-water
-- marks, 14 for each queue, or none, $7 and $8 between which lanes of each there are some
select queue, waiting, gone, scan_us, lowest, job_id, kind, lane, attempt, max_attempts,
    crashes, snoozes, created_at, cancelled, keyed, args, tags, metadata, waited
from jobkit.claim($1, $2, $3, $4, $5, $6, $7, $8)

-- @ jobs_count
-- How many jobs each listing has, as far as 10,001 of its index: more than 10,000 are not told
-- apart.
select 'live' as listing, count(*) as number
from (select from jobkit.jobs j limit 10001) l
union all
select 'ready', count(*) from (select from jobkit.ready r limit 10001) l
union all
select 'scheduled', count(*) from (select from jobkit.scheduled s limit 10001) l
union all
select 'retrying', count(*)
from (select from jobkit.scheduled s where s.retrying order by s.run_at, s.job_id limit 10001) l
union all
select 'running', coalesce(sum(cardinality(c.job_ids)), 0) from jobkit.claims c
union all
select 'blocked', count(*) from (select from jobkit.blocked_executions b limit 10001) l
union all
select 'finished', count(*) from (select from jobkit.finished f limit 10001) l
union all
select 'discarded', count(*)
from (select from jobkit.finished f where f.outcome = 'discard' limit 10001) l
union all
select 'cancelled', count(*)
from (select from jobkit.finished f where f.outcome = 'cancel' limit 10001) l

-- @ jobs_ended
-- explain: how a job ended: outcome and reason of a finished one, reason and error of a dead one.
-- $1 job
select false as dead, f.outcome as ending, f.reason as why, f.finished_at as ended_at
from jobkit.finished f where f.job_id = $1
union all
select true, d.reason, left(d.error, 1000), d.failed_at
from jobkit.dead_letters d where d.job_id = $1
limit 1

-- @ jobs_enqueue
-- enqueue: inserts jobs and returns their ids, in order.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 delays, $6 times, $7 groups, $8 keys,
-- $9 payloads, $10 tags, $11 metadata: arrays of one length; $12 dead-letter keys: perhaps shorter
select * from jobkit.enqueue_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)

-- @ jobs_enqueue_one
-- enqueue of one job that is due at once, without the function for many: it only inserts as well.
-- It runs in a session of the application's, whatever its search_path.
-- $1 kind, $2 queue, $3 priority, $4 max attempts, $5 group, $6 key (both or neither),
-- $7 dead-letter key, $8 payload, $9 tags, $10 metadata
with job as (
    insert into jobkit.jobs (kind, queue, priority, max_attempts, run_at, created_at,
        concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata)
    values ($1, $2, $3, $4, pg_catalog.statement_timestamp(), pg_catalog.statement_timestamp(),
        $5, $6, $7, $8, $9, $10)
    returning id
)
insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
select $2, $3, j.id, $1, $5, $6 from job j
-- As `wake`, in this statement's own plan.
returning job_id, case when exists (
        select from jobkit.sleepers s
        where s.until operator(pg_catalog.>) pg_catalog.statement_timestamp()
            and $2 operator(pg_catalog.=) any (s.queues)
    ) and pg_catalog.current_setting('jobkit.notify', true) is distinct from 'off'
        then pg_catalog.pg_notify('jobkit', '') end

-- @ jobs_exhausted
-- recover: jobs without attempts left that nobody ended, in the order of their ids.
-- $1 after this job, $2 how many at most
select * from jobkit.exhausted($1, $2)

-- @ jobs_explain
-- explain: where a live job is, and who might run it; by primary keys, but for `claims` and
-- `workers`, which are small. A worker lives as long as its lease; one that does not say how many
-- slots it has has many.
-- $1 job
select j.kind, j.queue, j.priority, j.concurrency_group, j.concurrency_key, j.cancel_requested_at,
    c.worker_id, c.claimed_at, s.run_at, s.run_at <= clock_timestamp() as due,
    b.job_id is not null as blocked, r.without_permit,
    q.paused_at, q.paused_by, q.reason as pause_reason, w.serving, w.knowing, w.slots
from jobkit.jobs j
left join jobkit.claims c on j.id = any (c.job_ids)
left join jobkit.scheduled s on s.run_at = j.run_at and s.job_id = j.id
left join jobkit.blocked_executions b on b.concurrency_group = j.concurrency_group
    and b.concurrency_key = j.concurrency_key and b.priority = j.priority and b.job_id = j.id
left join lateral (
    select true as without_permit from jobkit.ready r where r.queue = j.queue
        and r.priority = j.priority and r.without_permit and r.job_id = j.id
    union all
    select false from jobkit.ready r where r.queue = j.queue
        and r.priority = j.priority and not r.without_permit and r.job_id = j.id
) r on true
left join jobkit.queues q on q.name = j.queue and q.paused_at is not null
cross join lateral (
    select count(*) as serving, count(*) filter (where k.knows) as knowing,
        sum(coalesce(k.slots, 10000)) filter (where k.knows) as slots
    from (
        select j.kind = any (w.kinds) as knows,
            w.slots[array_position(w.queues, j.queue)] as slots
        from jobkit.workers w
        where j.queue = any (w.queues) and not w.stopping and w.lease_until > clock_timestamp()
    ) k
) w
where j.id = $1

-- @ jobs_get
-- A live job with all that is known of it; of `claims`, which is small, every row is looked at.
-- $1 job
select j.*, null as outcome, c.worker_id, coalesce(c.claimed_at, b.since) as since,
    null::interval as took, p.crashes, p.snoozes, p.cancel_requested_at, p.dead_letter_key,
    p.dead_letter_id as replays, null::bigint as dead_letter, null::bigint as replay_id,
    t.since as permit_since, null::timestamptz as expires_at, null as reason,
    p.args::text as args, p.metadata::text as metadata, k.redact,
    jobkit.timed_errors(jobkit.errors_of(j.id), j.id) as errors
from jobkit.listed_jobs j
join jobkit.jobs p on p.id = j.id
left join jobkit.claims c on j.state = 'running' and j.id = any (c.job_ids)
left join jobkit.blocked_executions b on b.job_id = j.id and (b.concurrency_group,
    b.concurrency_key, b.priority) = (j.concurrency_group, j.concurrency_key, j.priority)
left join jobkit.permits t on t.job_id = j.id
left join jobkit.kinds k on k.kind = j.kind
where j.id = $1

-- @ jobs_get_ended
-- A job that has ended, as jobs_get.sql has a live one: from the history, or as the last one of a
-- dead letter.
-- $1 job
select e.*, false as cancel_requested, null::timestamptz as cancel_requested_at,
    null::timestamptz as permit_since, k.redact, jobkit.timed_errors(e.failed, e.id) as errors
from (
    select f.job_id as id, 'finished' as state, f.outcome, f.kind, f.queue, f.priority, f.attempt,
        f.max_attempts, f.worker_id, f.run_at, f.created_at, f.finished_at as since, f.took,
        f.concurrency_group, f.concurrency_key, f.tags,
        left(coalesce(f.reason, f.errors -> -1 ->> 'error'), 300) as error, 0 as crashes,
        f.snoozes, null as dead_letter_key, f.dead_letter_id as replays,
        null::bigint as dead_letter, null::bigint as replay_id, f.expires_at, f.reason,
        f.args::text as args, f.metadata::text as metadata, f.errors as failed
    from jobkit.finished f where f.job_id = $1
    union all
    select d.job_id, 'dead', null, d.kind, d.queue, d.priority, d.attempt, d.max_attempts,
        d.worker_id, d.created_at, d.created_at, d.failed_at, null, d.concurrency_group,
        d.concurrency_key, d.tags, left(d.error, 300), 0, d.snoozes, d.key, null, d.id, d.replay_id,
        null, d.reason, d.args::text, d.metadata::text, d.errors
    from jobkit.dead_letters d where d.job_id = $1
) e
left join jobkit.kinds k on k.kind = e.kind
limit 1

-- @ jobs_last
-- The job with the highest id: what is enqueued later is not meant by what begins now.
select max(j.id) from jobkit.jobs j

-- @ jobs_list
-- A page of the live jobs of a listing: of the next ones those that are meant, each with how many
-- were meant and looked at, where the page ends when it is full, and where the search did when it
-- came to its end. When none is meant there is one row without a job.
-- $1 listing, $2 the place before it, null for the beginning; $3 how many are looked at, $4 how
-- many at most; null for any: $5 kind, $6 queue, $7 tag, $8 group, $9 key, $10 part of an error,
-- $11 worker, $12 id; $13 paths and $14 values of the payload, $15 whether hidden ones count
with looked_at as materialized (
    select l.*, m.meant from (
        select row_number() over () as nth, i.*
        from jobkit.jobs_in($1, $2::text::jsonb, $3, $6, $8, $9, $11, $12) i
    ) l
    cross join lateral (
        select ($5::text is null or j.kind = $5) and ($6::text is null or j.queue = $6)
            and ($7::text is null or $7 = any (j.tags))
            and ($8::text is null or j.concurrency_group = $8)
            and ($9::text is null or j.concurrency_key = $9)
            and ($10::text is null or exists (select from jobkit.attempts a
                where a.job_id = j.id and position(lower($10) in lower(a.error)) > 0))
            and (cardinality($13::text[]) = 0 or jobkit.has_args(j.kind, (
                select p.args from jobkit.jobs p where p.id = j.id), $13, $14, $15)) as meant
        from jobkit.listed_jobs j where j.id = l.id offset 0
    ) m
), page as (select * from looked_at l where l.meant order by l.nth limit $4)
select n.*, j.*, null as outcome, null::interval as took, coalesce(p.worker_id, c.worker_id)
    as worker_id, coalesce(p.since, c.claimed_at, b.since) as since
from (
    select count(*) filter (where l.meant) as meant, count(*) as looked_at,
        (select jobkit.place_in($1, p.id, p.without_permit, p.since)::text
            from page p order by p.nth offset $4 - 1) as page_end,
        (select jobkit.place_in($1, l.id, l.without_permit, l.since)::text
            from looked_at l where l.nth = $3) as search_end
    from looked_at l
) n
left join page p on true
left join jobkit.listed_jobs j on j.id = p.id
left join jobkit.claims c on $1 = 'live' and j.state = 'running' and j.id = any (c.job_ids)
left join jobkit.blocked_executions b on $1 = 'live' and b.job_id = j.id and (b.concurrency_group,
    b.concurrency_key, b.priority) = (j.concurrency_group, j.concurrency_key, j.priority)
order by p.nth

-- @ jobs_list_ended
-- A page of the ended jobs of a listing, the newest job first; as jobs_list.sql, which see.
-- $1 listing, $2 the place before it, null for the beginning; $3 how many are looked at, $4 how
-- many at most; null for any: $5 kind, $6 queue, $7 tag, $8 group, $9 key, $10 part of an error,
-- $11 worker, $12 id; $13 paths and $14 values of the payload, $15 whether hidden ones count
with looked_at as materialized (
    select row_number() over () as nth, f.job_id, f.expires_at,
        ($5::text is null or f.kind = $5) and ($6::text is null or f.queue = $6)
            and ($7::text is null or $7 = any (f.tags))
            and ($8::text is null or f.concurrency_group = $8)
            and ($9::text is null or f.concurrency_key = $9)
            and ($11::bigint is null or f.worker_id = $11)
            and ($10::text is null or position(lower($10) in lower(f.reason)) > 0
                or exists (select from jsonb_array_elements(f.errors) e (value)
                    where position(lower($10) in lower(e.value ->> 'error')) > 0))
            and (cardinality($13::text[]) = 0
                or jobkit.has_args(f.kind, f.args, $13, $14, $15)) as meant
    from jobkit.ended_in($1, ($2::text::jsonb ->> 0)::bigint, $3, $12) f
), page as (
    select * from looked_at l where l.meant order by l.nth limit $4
)
select n.*, f.job_id as id, f.kind, f.queue, f.priority, f.attempt, f.max_attempts,
    false as cancel_requested, f.run_at, f.created_at, f.concurrency_group, f.concurrency_key,
    f.tags, 'finished' as state, left(coalesce(f.reason, f.errors -> -1 ->> 'error'), 300) as error,
    f.outcome, f.worker_id, f.finished_at as since, f.took
from (
    select count(*) filter (where l.meant) as meant, count(*) as looked_at,
        (select jsonb_build_array(p.job_id)::text from page p order by p.nth offset $4 - 1)
            as page_end,
        (select jsonb_build_array(l.job_id)::text from looked_at l where l.nth = $3) as search_end
    from looked_at l
) n
left join page p on true
left join jobkit.finished f on f.job_id = p.job_id and f.expires_at = p.expires_at
order by p.nth

-- @ jobs_page
-- A page of the live jobs that a filter means, in the order of their ids: of the next 10,000 jobs
-- those that fit, 500 at most, and the job after which the next page begins, null after the last.
-- The state of each is read by primary keys; one that waits nowhere runs.
-- $1 after this job, $2 up to this one; $3 kind, $4 queue, $5 concurrency group, $6 concurrency
-- key, $7 tag, $8 state: null for any
with looked_at as materialized (
    select j.id, j.kind, j.queue, j.concurrency_group, j.concurrency_key, j.tags
    from jobkit.jobs j where j.id > $1 and j.id <= $2 order by j.id limit 10000
), page as materialized (
    select l.id from looked_at l
    left join lateral (
        select j.state from jobkit.listed_jobs j where j.id = l.id offset 0
    ) p on $8::text is not null
    where ($3::text is null or l.kind = $3) and ($4::text is null or l.queue = $4)
        and ($5::text is null or l.concurrency_group = $5)
        and ($6::text is null or l.concurrency_key = $6)
        and ($7::text is null or $7 = any (l.tags)) and ($8 is null or p.state = $8)
    order by l.id limit 500
)
select array(select p.id from page p order by p.id) as jobs,
    case when (select count(*) from page) = 500 then (select max(p.id) from page p)
        when (select count(*) from looked_at) = 10000 then (select max(l.id) from looked_at l)
    end as last

-- @ jobs_promote
-- promote: makes due jobs ready, by the primary key of `scheduled`; and whether an operation is
-- open.
-- $1 how many at most
select p.promoted, p.next_in, exists (
    select from jobkit.operations o where o.ended_at is null
) as operating
from jobkit.promote($1) p

-- @ jobs_recover
-- recover: buries jobs without attempts left; returns how many.
-- $1 jobs
select jobkit.recover($1)

-- @ jobs_reschedule
-- reschedule: gives waiting jobs another time; returns those that were found.
-- $1 jobs, $2 time, null for now; for the audit $3 actor, $4 detail
select * from jobkit.reschedule($1, $2, $3, $4)

-- @ jobs_selected
-- Which of these jobs are live, in the order of their ids.
-- $1 jobs
select j.id from jobkit.jobs j where j.id = any ($1) order by j.id

-- @ jobs_settle
-- settle: records the outcomes of claimed jobs; returns those that did not go as asked, which jobs
-- got a permit (with queue and priority), and those of them that the worker claimed.
-- $1 worker, $2 claim numbers, $3 jobs, $4 outcomes, $5 errors, $6 reasons, $7 delays, $8 how long
-- to keep, $9 how long they took, $10 types of the errors: arrays, those from $5 on perhaps
-- shorter; $11 number of the claim of what it unblocks, or null, $12 queues, $13 room in each
select s.job_id, s.ending, s.queue, s.priority, (s.job).kind, (s.job).attempt + 1 as attempt,
    (s.job).max_attempts, (s.job).crashes, (s.job).snoozes, (s.job).created_at,
    (s.job).cancel_requested_at is not null as cancelled,
    (s.job).concurrency_key is not null as keyed, (s.job).args, (s.job).tags, (s.job).metadata,
    clock_timestamp() - least(greatest((s.job).run_at, (s.job).created_at, 'epoch'),
        clock_timestamp()) as waited
from jobkit.settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) s

-- @ jobs_state
-- Where a job is: its state by the primary keys, and whether it is marked; of `claims`, which is
-- small, every row is looked at.
-- $1 job
select case when c.worker_id is not null then 'running'
        when s.job_id is not null then 'scheduled'
        when b.job_id is not null then 'blocked' else 'ready' end as state,
    j.cancel_requested_at is not null as cancel_requested
from jobkit.jobs j
left join jobkit.claims c on j.id = any (c.job_ids)
left join jobkit.scheduled s on s.run_at = j.run_at and s.job_id = j.id
left join jobkit.blocked_executions b on b.concurrency_group = j.concurrency_group
    and b.concurrency_key = j.concurrency_key and b.priority = j.priority and b.job_id = j.id
where j.id = $1
union all
select 'finished', false from jobkit.finished f where f.job_id = $1
union all
select 'dead', false from jobkit.dead_letters d where d.job_id = $1
limit 1

-- @ jobs_unknown
-- Kinds at the head of the served queues that this worker does not know; the first 1,000 rows of
-- each queue are looked at, so a large backlog costs no more than a small one.
-- $1 queues, $2 kinds known
select distinct h.kind, h.queue
from unnest($1::text[]) as q (queue)
cross join lateral (
    select r.kind, r.queue from jobkit.ready r where r.queue = q.queue
    order by r.priority, r.without_permit, r.job_id limit 1000
) h
where h.kind <> all ($2::text[])

-- @ jobs_unserved
-- Queues that have ready jobs, and whether a live worker serves each, for start-up to name. Walks
-- the primary key of `ready` from queue to queue, so it reads one row for each, not the backlog.
select q.queue, exists (
    select from jobkit.workers w
    where q.queue = any (w.queues) and w.lease_until > clock_timestamp()
) as served
from jobkit.ready_queues() q

-- @ kinds_announce
-- announce: what this binary says of its kinds.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 retention, $6 groups, $7 limits,
-- $8 how long until dead letters replay by themselves, $9 how often they may be buried, $10 paths
-- that are not shown, with commas between
select jobkit.announce($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- @ kinds_list
-- The kinds that workers have announced, by name, 1,000 at most; and how many live workers know
-- each.
select k.kind, k.queue, k.priority, k.max_attempts, k.concurrency_group, k.concurrency_limit,
    (extract(epoch from k.retention) * 1000000)::bigint as retention,
    (extract(epoch from k.auto_replay) * 1000000)::bigint as auto_replay, k.max_cycles,
    k.announced_at, (
        select count(*) from jobkit.workers w
        where k.kind = any (w.kinds) and not w.stopping and w.lease_until > now()
    ) as workers
from jobkit.kinds k
order by k.kind limit 1000

-- @ measures_add
-- measure: adds what a worker has counted to the rows of this minute, by the primary key of
-- `measures`.
-- $1 one object for each queue, kind and outcome
select jobkit.measure($1)

-- @ measures_kinds
-- Measures of each kind up to now, by the primary key of `measures`: of the newest 50,000 rows.
-- Histograms come as places, each with its two numbers.
-- $1 how far back
with looked_at as materialized (
    select m.kind, m.outcome, m.count, m.run, m.wait from jobkit.measures m
    where m.span = 1 and m.minute >= now() - $1::interval order by m.minute desc limit 50000
), ended as (
    select e.kind, array_agg(e.outcome) as outcomes, array_agg(e.number) as numbers
    from (select l.kind, l.outcome, sum(l.count) as number from looked_at l group by 1, 2) e
    group by e.kind
), took as (
    select e.kind, array_agg(e.place) as places, array_agg(e.run) as run, array_agg(e.wait) as wait
    from (
        select p.kind, p.place, sum(p.run) as run, sum(p.wait) as wait
        from (
            select l.kind, unnest(l.run) as run, unnest(l.wait) as wait,
                generate_series(1, greatest(cardinality(l.run), cardinality(l.wait))::bigint)
                    as place
            from looked_at l
        ) p
        where p.run > 0 or p.wait > 0 group by p.kind, p.place
    ) e
    group by e.kind
)
select e.kind, e.outcomes, e.numbers, t.places, t.run, t.wait
from ended e
left join took t on t.kind = e.kind

-- @ measures_prune
-- prune: removes old measures; returns how many rows.
-- $1 how long they are kept, $2 how many at most
select jobkit.prune_measures($1, $2)

-- @ measures_series
-- Measures in stretches of equal length up to now, by the primary key of `measures`: of the newest
-- 50,000 rows. Histograms come as places, each with its two numbers; a stretch in which nothing was
-- measured is there, too.
-- $1 how far back, $2 how long a stretch, a multiple of $3, the minutes of the rows to read; null
-- for any: $4 queue, $5 kind
with looked_at as materialized (
    select date_bin($2, m.minute, 'epoch') as at, m.outcome, m.count, m.run, m.wait
    from jobkit.measures m
    where m.span = $3 and m.minute >= date_bin($2, now() - $1::interval, 'epoch')
        and ($4::text is null or m.queue = $4) and ($5::text is null or m.kind = $5)
    order by m.minute desc limit 50000
), ended as (
    select e.at, array_agg(e.outcome) as outcomes, array_agg(e.number) as numbers
    from (select l.at, l.outcome, sum(l.count) as number from looked_at l group by 1, 2) e
    group by e.at
), took as (
    select e.at, array_agg(e.place) as places, array_agg(e.run) as run, array_agg(e.wait) as wait
    from (
        select p.at, p.place, sum(p.run) as run, sum(p.wait) as wait
        from (
            select l.at, unnest(l.run) as run, unnest(l.wait) as wait,
                generate_series(1, greatest(cardinality(l.run), cardinality(l.wait))::bigint)
                    as place
            from looked_at l
        ) p
        where p.run > 0 or p.wait > 0 group by p.at, p.place
    ) e
    group by e.at
)
select s.at, e.outcomes, e.numbers, t.places, t.run, t.wait
from generate_series(date_bin($2, now() - $1::interval, 'epoch'), now(), $2) as s (at)
left join ended e on e.at = s.at
left join took t on t.at = s.at
order by s.at

-- @ operations_begin
-- begin: an operation, or the one that has this key; and whether it was made.
-- $1 verb, $2 filter, $3 reason, $4 time of a reschedule, $5 how many are meant as far as was
-- looked, $6 whether there may be more, $7 the last failure that is meant, $8 idempotency key,
-- $9 who
select operation, begun from jobkit.operation_begin($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- @ operations_list
-- Operations, the newest first.
-- $1 only this one, null for any; $2 before this one, null for the beginning; $3 how many at most
select o.id, o.verb, o.filter, o.reason, o.run_at, o.actor, o.idempotency_key, o.state, o.total,
    o.counted, o.done, o.asked, o.skipped, o.error, o.created_at, o.started_at, o.ended_at
from jobkit.operations o
where ($1::bigint is null or o.id = $1) and o.id < coalesce($2, 9223372036854775807)
order by o.id desc limit $3

-- @ operations_next
-- The oldest operation that is open.
select o.id from jobkit.operations o
where o.ended_at is null order by o.id limit 1

-- @ operations_operate
-- operate: one step of an operation; null when somebody else is at it, or it has ended.
-- $1 operation, $2 how many jobs or dead letters at most
select outcome from jobkit.operate($1, $2)

-- @ operations_results
-- What did not go as asked, in the order of ids; 1,000 are kept.
-- $1 operation
select r.subject_id, r.outcome from jobkit.operation_results r
where r.operation_id = $1 order by r.subject_id limit 1000

-- @ operations_stop
-- Ends an operation that is open, as cancelled or failed; whether it was.
-- $1 operation, $2 state, $3 error, $4 who
select jobkit.operation_stop($1, $2, $3, $4)

-- @ overview_blocked
-- How long the job waits that waits longest, in microseconds, among the first of 1,000 keys; and
-- those keys without a permit left whose first has waited for long, the longest first, 20 at most.
-- One step along the primary key for each.
-- $1 how long that is
with recursive step (n, grp, key, since) as (
    (
        select 1, b.concurrency_group, b.concurrency_key, b.since from jobkit.blocked_executions b
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1
    )
    union all
    select s.n + 1, e.*
    from step s
    cross join lateral (
        select b.concurrency_group, b.concurrency_key, b.since from jobkit.blocked_executions b
        where (b.concurrency_group, b.concurrency_key) > (s.grp, s.key)
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1
    ) e
    where s.n < 1000
)
select (extract(epoch from now() - o.since) * 1000000)::bigint as oldest, k.grp, k.key,
    k.effective_limit, k.taken, (extract(epoch from now() - k.since) * 1000000)::bigint as age, (
        select count(*) from (
            select from jobkit.blocked_executions b
            where b.concurrency_group = k.grp and b.concurrency_key = k.key
            order by b.priority, b.job_id limit 10001
        ) b
    ) as blocked
from (select min(s.since) as since from step s) o
left join lateral (
    select s.*, l.effective_limit, l.taken
    from step s
    cross join lateral (
        select l.effective_limit, l.taken from jobkit.limits l
        where l.concurrency_group = s.grp and l.concurrency_key = s.key offset 0
    ) l
    where s.since < now() - $1::interval and l.taken >= l.effective_limit
    order by s.since limit 20
) k on true

-- @ overview_counts
-- What waits, runs and is dead; a count that is one more than 10,000 has ended there. What is due
-- at the ends of time is no time to tell.
select now() as at, r.ready, c.running, w.workers, w.capacity, s.scheduled, s.due_soon,
    s.next_run_at, y.retrying, b.blocked, d.dead, d.dead_lately
from (
    select count(*) as ready from (select from jobkit.ready r
        order by r.queue, r.priority, r.without_permit, r.job_id limit 10001) r
) r
cross join (select coalesce(sum(cardinality(c.job_ids)), 0) as running from jobkit.claims c) c
cross join (
    select count(*) as workers, coalesce(sum(s.slots), 0)::bigint as capacity
    from jobkit.workers w
    cross join lateral (select sum(s.slots) as slots from unnest(w.slots) as s (slots)) s
    where not w.stopping and w.lease_until > now()
) w
cross join (
    select count(*) as scheduled,
        count(*) filter (where s.run_at <= now() + interval '1 hour') as due_soon,
        min(s.run_at) filter (where s.run_at < 'infinity') as next_run_at
    from (select s.run_at from jobkit.scheduled s order by s.run_at, s.job_id limit 10001) s
) s
cross join (
    select count(*) as retrying
    from (select from jobkit.scheduled s where s.retrying order by s.run_at, s.job_id
        limit 10001) s
) y
cross join (
    select count(*) as blocked from (select from jobkit.blocked_executions b
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 10001) b
) b
cross join (
    select count(*) as dead,
        count(*) filter (where d.failed_at > now() - interval '1 hour') as dead_lately
    from (select d.failed_at from jobkit.dead_letters d where d.state = 'open'
        order by d.failed_at desc, d.id desc limit 10001) d
) d

-- @ overview_lost
-- Workers that were lost within the last hour, the last first, 20 at most.
select l.id, l.name, l.lost_at, l.jobs from jobkit.lost_workers l
where l.lost_at > now() - interval '1 h' order by l.lost_at desc, l.id limit 20

-- @ overview_operation
-- The oldest open operation: how long ago, in microseconds, it got further, or one of the 20 before
-- it ended: until then it was not its turn.
select o.id, o.verb, (extract(epoch from now() - greatest(
        coalesce(o.stepped_at, o.created_at),
        (
            select max(b.ended_at) from (
                select b.ended_at from jobkit.operations b where b.id < o.id
                order by b.id desc limit 20
            ) b
        )
    )) * 1000000)::bigint as age
from jobkit.operations o where o.state in ('pending', 'running') order by o.id limit 1

-- @ overview_paused
-- The paused queues with ready jobs, those paused first first, 20 at most; no more than 10,001 jobs
-- of each are counted.
select q.name, q.paused_at, q.paused_by, q.reason, r.number
from jobkit.queues q
cross join lateral (
    select count(*) as number from (
        select from jobkit.ready r where r.queue = q.name
        order by r.priority, r.without_permit, r.job_id limit 10001
    ) r
) r
where q.paused_at is not null and r.number > 0
order by q.paused_at, q.name limit 20

-- @ overview_ready
-- How long the ready job has been due that was due first, in microseconds, of queues that are not
-- paused; and the queues in which one that a live worker serves has been due for long, the latest
-- first, 20 at most, with what live workers can run of them at once and how much of that is taken
-- (of the first 10,000 running jobs of all).
-- $1 how long that is
with heads as materialized (
    select h.queue, h.kind, min(h.due) as due from jobkit.ready_heads(500, 20) h
    group by h.queue, h.kind
), late as materialized (
    select h.queue, min(h.due) as due from heads h
    where h.due < now() - $1::interval and exists (
        select from jobkit.workers w
        where h.queue = any (w.queues) and h.kind = any (w.kinds) and not w.stopping
            and w.lease_until > now()
    )
    group by h.queue order by min(h.due), h.queue limit 20
), running as materialized (
    select j.queue, count(*) as number
    from (
        select unnest(c.job_ids) as id from jobkit.claims c
        where exists (select from late) limit 10001
    ) c
    cross join lateral (select j.queue from jobkit.jobs j where j.id = c.id offset 0) j
    group by j.queue
)
select (extract(epoch from now() - o.due) * 1000000)::bigint as oldest, l.queue,
    (extract(epoch from now() - l.due) * 1000000)::bigint as age, (
        select coalesce(sum(w.slots[array_position(w.queues, l.queue)]), 0)
        from jobkit.workers w
        where l.queue = any (w.queues) and not w.stopping and w.lease_until > now()
    ) as slots, coalesce((select r.number from running r where r.queue = l.queue), 0) as busy,
    coalesce((select sum(r.number) from running r), 0) > 10000 as more
from (select min(h.due) as due from heads h) o left join late l on true order by l.due, l.queue

-- @ overview_unserved
-- Queues and kinds of jobs that no live worker serves: of the first 50 ready jobs of each lane of
-- 100 queues, by the primary key of `ready`, and of the first 1,000 blocked and the first 1,000
-- scheduled ones; `more` when there may be others. A queue that is paused is not served on purpose.
-- $1 how many of them at most
with met (queue, kind, number, more) as materialized (
    select q.queue, h.kind, h.number, h.more
    from jobkit.ready_queues(100) q
    cross join generate_series(-3, 3) as p (priority)
    cross join unnest('{f,t}'::boolean[]) as w (without_permit)
    cross join lateral (
        select e.kind, count(*) as number, sum(count(*)) over () = 50 as more
        from (select r.kind from jobkit.ready r where r.queue = q.queue
            and r.priority = p.priority and r.without_permit = w.without_permit
            order by r.job_id limit 50) e
        group by e.kind
    ) h
    union all
    select b.queue, b.kind, count(*), sum(count(*)) over () = 1000
    from (
        select b.queue, b.kind from jobkit.blocked_executions b
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1000
    ) b
    group by b.queue, b.kind
    union all
    select j.queue, j.kind, count(*), sum(count(*)) over () = 1000
    from (select s.job_id from jobkit.scheduled s order by s.run_at, s.job_id limit 1000) s
    cross join lateral (select j.queue, j.kind from jobkit.jobs j where j.id = s.job_id offset 0) j
    group by j.queue, j.kind
)
select m.queue, m.kind, sum(m.number)::bigint as number, bool_or(m.more) as more,
    exists (select from jobkit.kinds k where k.kind = m.kind) as announced
from met m
where not exists (
        select from jobkit.workers w
        where m.queue = any (w.queues) and m.kind = any (w.kinds) and not w.stopping
            and w.lease_until > now()
    )
    and not exists (select from jobkit.queues p where p.name = m.queue and p.paused_at is not null)
group by m.queue, m.kind order by m.queue, m.kind limit $1

-- @ permits_held
-- The permits of a key that are taken, in the order in which they were; 100 at most.
-- $1 group, $2 key
select p.job_id, c.worker_id, p.since
from (
    select h.job_id, h.since from jobkit.permits h
    where h.concurrency_group = $1 and h.concurrency_key = $2
    order by h.since, h.job_id limit 100
) p
left join jobkit.claims c on c.keyed and p.job_id = any (c.job_ids)
order by p.since, p.job_id

-- @ queues_blocked
-- The blocked jobs by queue and kind, as far as they are among the first 10,001 of all; whether
-- there are more; and how long the one of each that waits longest does, in microseconds.
select b.queue, b.kind, count(*) as number, sum(count(*)) over () > 10000 as more,
    (extract(epoch from now() - min(b.since)) * 1000000)::bigint as age
from (
    select b.queue, b.kind, b.since from jobkit.blocked_executions b
    order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 10001
) b
group by b.queue, b.kind

-- @ queues_known
-- The queues that workers serve or that are paused, by name: what live workers can run of each at
-- a time, and the pause.
select n.name, w.workers, w.capacity, q.paused_at, q.paused_by, q.reason
from (
    select unnest(w.queues) as name from jobkit.workers w
    union select q.name from jobkit.queues q where q.paused_at is not null
) n
left join jobkit.queues q on q.name = n.name and q.paused_at is not null
cross join lateral (
    select count(*) as workers,
        coalesce(sum(w.slots[array_position(w.queues, n.name)]), 0) as capacity
    from jobkit.workers w
    where n.name = any (w.queues) and not w.stopping and w.lease_until > now()
) w
order by n.name collate "C" limit 500

-- @ queues_pause
-- pause: nobody claims from this queue any more; returns whether it was not paused before.
-- $1 queue, $2 actor, $3 reason
select jobkit.pause($1, $2, $3)

-- @ queues_paused
-- The paused queues, in the order of their names.
select q.name, q.paused_at, q.paused_by, q.reason
from jobkit.queues q where q.paused_at is not null order by q.name

-- @ queues_ready
-- The ready jobs of 500 queues by kind, as many of each queue as the number of queues allows, and
-- whether there are more; and how long the one has been due that was due first of the first 20 of
-- each lane, in microseconds.
with q as materialized (
    select r.queue from jobkit.ready_queues(500) r
), most (number) as (
    select greatest(1000, least(10000, 50000 / greatest(count(*), 1))) from q
)
select q.queue, k.kinds, k.numbers, k.more, (
    select (extract(epoch from now() - min(j.due)) * 1000000)::bigint
    from generate_series(-3, 3) as p (priority)
    cross join unnest('{f,t}'::boolean[]) as w (without_permit)
    cross join lateral (
        select r.job_id from jobkit.ready r where r.queue = q.queue and r.priority = p.priority
            and r.without_permit = w.without_permit order by r.job_id limit 20
    ) h
    cross join lateral (select greatest(j.run_at, j.created_at) as due from jobkit.jobs j
        where j.id = h.job_id offset 0) j
) as age
from q
cross join most m
cross join lateral (
    select array_agg(k.kind) as kinds, array_agg(least(k.number, m.number)) as numbers,
        sum(k.number) > m.number as more
    from (
        select e.kind, count(*) as number
        from (select r.kind from jobkit.ready r where r.queue = q.queue
            order by r.priority, r.without_permit, r.job_id limit m.number + 1) e
        group by e.kind
    ) k
) k

-- @ queues_resume
-- resume: the queue is served again; returns whether it was paused.
-- $1 queue, $2 actor
select jobkit.resume($1, $2)

-- @ queues_running
-- The running jobs by queue and kind, as far as they are among the first 10,001 of all; and whether
-- there are more.
select j.queue, j.kind, count(*) as number, sum(count(*)) over () > 10000 as more
from (select unnest(c.job_ids) as id from jobkit.claims c limit 10001) c
cross join lateral (select j.queue, j.kind from jobkit.jobs j where j.id = c.id offset 0) j
group by j.queue, j.kind

-- @ queues_scheduled
-- The scheduled jobs by queue and kind, as far as they are among the next 10,001 of all; whether
-- there are more; how many of them have used an attempt up, and when the next one is due.
select j.queue, j.kind, count(*) as number, sum(count(*)) over () > 10000 as more,
    count(*) filter (where s.retrying) as retrying,
    min(s.run_at) filter (where s.run_at < 'infinity') as next_run_at
from (
    select s.run_at, s.job_id, s.retrying from jobkit.scheduled s
    order by s.run_at, s.job_id limit 10001
) s
cross join lateral (
    select j.queue, j.kind from jobkit.jobs j where j.id = s.job_id offset 0
) j
group by j.queue, j.kind

-- @ reap_look
-- reap: whether a lease has lapsed, whether a claim has no worker, and when that was so.
-- $1 reaper
select exists (
        select from jobkit.workers w
        where jobkit.has_lapsed(w, (select r.lease from jobkit.workers r where r.id = $1))
    ) as lapsed,
    exists (
        select from jobkit.claims c
        where not exists (select from jobkit.workers w where w.id = c.worker_id)
    ) as orphaned,
    clock_timestamp() as at

-- @ recover_look
-- recover: whether there are jobs to bury, dead letters to replay, or operations to go on with.
select exhausted, replay_due, operating from jobkit.recover_look()

-- @ schema_version
-- The migrations applied: the newest one, and the oldest binary that may work with them all.
-- Fails with 42P01 (no table) or 3F000 (no schema) when there is none.
select coalesce(pg_catalog.max(m.version), 0) as version,
    coalesce(pg_catalog.max(m.readable_by), 0) as readable_by
from jobkit._migrations m

-- @ semaphores_limit
-- limit: an operator's limit for one concurrency key; returns whether its group is known.
-- $1 group, $2 key, $3 limit or null, $4 actor
select jobkit.limit_key($1, $2, $3, $4)

-- @ semaphores_list
-- A page of the semaphores, in the order of group and key; of the blocked jobs of each, 10,000 at
-- most are counted.
-- $1 group and $2 key after which it begins, $3 how many at most; $4 group, $5 key: null for any;
-- $6 only those with no permit left, $7 only those with blocked jobs
select s.concurrency_group, s.concurrency_key, l.effective, s.override_limit, s.taken,
    b.blocked, b.oldest
from jobkit.semaphores s
left join jobkit.concurrency_groups g on g.name = s.concurrency_group
cross join lateral (
    select coalesce(s.override_limit, g.override_limit, g.default_limit, 1) as effective
) l
cross join lateral (
    select count(*) as blocked, min(f.since) as oldest
    from (
        select b.since from jobkit.blocked_executions b
        where b.concurrency_group = s.concurrency_group and b.concurrency_key = s.concurrency_key
        order by b.priority, b.job_id limit 10000
    ) f
) b
where (s.concurrency_group, s.concurrency_key) > ($1, $2)
    and ($4::text is null or s.concurrency_group = $4)
    and ($5::text is null or s.concurrency_key = $5)
    and (not $6 or s.taken >= l.effective)
    and (not $7 or s.crowded) and (not $7 or b.blocked > 0)
order by s.concurrency_group, s.concurrency_key limit $3

-- @ server
-- What kind of server and database this is, on a connection of which nothing is known yet.
select pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as version,
    pg_catalog.current_setting('server_encoding') as encoding

-- @ server_settings
-- What throughput depends on, as it is in this session.
select s.name, current_setting(s.name) from pg_settings s
where s.name in ('fsync', 'full_page_writes', 'max_wal_size', 'server_version', 'shared_buffers',
    'synchronous_commit', 'synchronous_standby_names', 'wal_level')
order by s.name

-- @ session_set
-- What our statements rely on, whatever the defaults of the role and the database are: set for the
-- session of a worker, or for the transaction of an operator. Every name is written out: until this
-- has run the search_path is anything. Returns whether this server only reads (a standby, after
-- fail-over).
-- $1 whether for this transaction only, $2 statement timeout, $3 lock timeout, $4 for how long a
-- transaction may wait for its client, $5 whether a table may be read as a whole although it has an
-- index, and $6 whether its rows may be sorted, when the statistics speak for it
select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', $1),
    pg_catalog.set_config('statement_timeout', $2, $1),
    pg_catalog.set_config('lock_timeout', $3, $1),
    pg_catalog.set_config('idle_in_transaction_session_timeout', $4, $1),
    -- Of PostgreSQL 17 and later.
    case when pg_catalog.current_setting('transaction_timeout', true) is not null then
        pg_catalog.set_config('transaction_timeout', '0', $1) end,
    case when not $1 then pg_catalog.set_config('idle_session_timeout', '0', false) end,
    case when not $1 then
        pg_catalog.set_config('default_transaction_isolation', 'read committed', false) end,
    case when not $1 then pg_catalog.set_config('default_transaction_read_only', 'off', false) end,
    -- Only a superuser may say so, or has a need to.
    case when pg_catalog.current_setting('session_replication_role')
            operator(pg_catalog.<>) 'origin' then
        pg_catalog.set_config('session_replication_role', 'origin', $1) end,
    -- So that a statement which waits for a lock ends with its client; only Linux always can.
    case when pg_catalog.strpos(pg_catalog.version(), 'linux') operator(pg_catalog.>) 0 then
        pg_catalog.set_config('client_connection_check_interval', '1s', $1) end,
    pg_catalog.set_config('standard_conforming_strings', 'on', $1),
    pg_catalog.set_config('timezone', 'UTC', $1),
    -- None of our statements runs for so long that compiling it pays.
    pg_catalog.set_config('jit', 'off', $1),
    pg_catalog.set_config('enable_seqscan', $5, $1),
    pg_catalog.set_config('enable_bitmapscan', $6, $1),
    pg_catalog.set_config('enable_sort', $6, $1),
    pg_catalog.set_config('enable_hashjoin', $6, $1),
    pg_catalog.set_config('enable_mergejoin', $6, $1),
    -- A plan for any filter would follow no filter's index.
    case when $1 then pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true) end,
    pg_catalog.pg_is_in_recovery() as reads_only

-- @ stuck_list
-- Jobs with which a transition fails through no fault of theirs, the longest so first.
-- $1 this one only, or null, $2 how many at most
select job_id, transition, error, since, tries, retry_at from jobkit.stuck_jobs
where $1::bigint is null or job_id = $1
order by since, job_id limit $2

-- @ stuck_set_aside
-- set_aside: takes ready jobs that cannot be read out of the way of claims; returns them, and why.
-- $1 worker, $2 kinds known, $3 queues, $4 how many to look at in each
select job_id, error from jobkit.set_aside($1, $2, $3, $4)

-- @ stuck_stick
-- stick: notes jobs with which a transition failed, through no fault of theirs; returns how long to
-- leave each alone.
-- $1 transition, $2 jobs, $3 errors, $4 worker
select job_id, wait from jobkit.stick($1, $2, $3, $4)

-- @ stuck_unstick
-- unstick: notes that jobs went through.
-- $1 jobs
select jobkit.unstick($1)

-- @ sweep_begin
-- sweep: whether the next periodic one is due, with anything to look at, and whether something
-- explains what it may find.
-- $1 how often
select due, explained from jobkit.sweep_begin($1)

-- @ sweep_cancelled
-- sweep: ends waiting jobs whose cancel was cut short; returns how many.
-- $1 how many at most
select jobkit.sweep_cancelled($1)

-- @ sweep_keys
-- sweep: fills keys with free permits and blocked jobs; returns how many jobs became ready, and
-- the key after which the next page begins.
-- $1 group and $2 key after which this page begins, $3 keys to look at
select unblocked, last_group, last_key from jobkit.sweep($1, $2, $3)

-- @ sweep_note
-- sweep: adds to the count of what sweeps found and nothing explained.
-- $1 how many
select jobkit.sweep_note($1)

-- @ sweep_start
-- sweep: waits for everybody who may have decided without having seen a worker that just began.
-- $1 for how long at most, in milliseconds
select jobkit.sweep_start($1)

-- @ sweep_unserved
-- sweep: takes permits back from ready jobs that nobody serves; returns how many there were.
-- $1 how many at most
select jobkit.sweep_unserved($1)

-- @ workers_deregister
-- deregister: a worker ends.
-- $1 worker
select jobkit.deregister($1)

-- @ workers_heartbeat
-- heartbeat: renews the lease, by the primary key of `workers`.
-- $1 worker, $2 whether it is stopping
select alive, lapsed, stop, cancel from jobkit.heartbeat($1, $2)

-- @ workers_jobs
-- The jobs that a worker runs, those claimed first first, 500 at most.
-- $1 worker
select j.id, j.kind, j.queue, j.attempt + 1 as attempt, c.claimed_at
from (
    select c.n, c.claimed_at, unnest(c.job_ids) as id from jobkit.claims c where c.worker_id = $1
    order by c.n limit 500
) c
cross join lateral (
    select j.id, j.kind, j.queue, j.attempt from jobkit.jobs j where j.id = c.id offset 0
) j
order by c.n, j.id

-- @ workers_list
-- Workers by name, 500 at most; times in microseconds.
-- $1 only this one, null for any; $2 only those of whose lease less than a quarter is left
select w.id, w.name, w.started_at, w.lease_until, w.stopping, w.stop_requested_at, w.queues,
    w.slots, w.kinds, w.lease_until <= now() as lapsed, w.lease_until - w.lease / 4 < now() as late,
    greatest((extract(epoch from now() - w.heartbeat_at) * 1000000)::bigint, 0) as heartbeat_age,
    (extract(epoch from w.lease) * 1000000)::bigint as lease, (
        select coalesce(sum(cardinality(c.job_ids)), 0) from jobkit.claims c
        where c.worker_id = w.id
    ) as running
from jobkit.workers w
where ($1::bigint is null or w.id = $1) and (not $2 or w.lease_until - w.lease / 4 < now())
order by w.name, w.id limit 500

-- @ workers_reap
-- reap, first half: removes workers whose lease has lapsed, if the reaper's own has not.
-- $1 reaper
select * from jobkit.reap_workers($1)

-- @ workers_register
-- register: a worker begins, with its lease.
-- $1 worker, $2 name, $3 queues, $4 kinds, $5 lease, $6 slots of each queue
select jobkit.register($1, $2, $3, $4, $5, $6)

-- @ workers_rise
-- rise: enqueues need not notify this worker any more.
-- $1 worker
delete from jobkit.sleepers where worker_id = $1

-- @ workers_sleep
-- sleep: asks the next enqueue to notify this worker.
-- $1 worker, $2 queues, $3 for how long
select jobkit.sleep($1, $2, $3)

-- @ workers_stop
-- stop: asks a worker to stop; says whether it was asked.
-- $1 worker, $2 actor
select jobkit.stop_worker($1, $2)
