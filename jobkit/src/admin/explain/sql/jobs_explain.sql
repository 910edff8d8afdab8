-- explain: where a live job ($1) is, and who could run it; by primary keys except for small tables.
select j.kind, coalesce(p.version, 1::smallint) as version, j.queue, j.priority, r.done,
    j.concurrency_group, j.concurrency_key, p.cancel_requested_at, c.worker_id, c.claimed_at,
    r.total, r.note, r.progressed_at, c.worker_id is not null and j.state = 'ready' as waits,
    case when j.run_at = '9999-12-31 00:00Z' then p.callback_of end as awaits, -- `parked`
    case when j.state = 'scheduled' then j.run_at end as run_at,
    case when p.due_since > now() then p.due_since end as asked_for, (
        select u.job_id from jobkit.unique_keys u
        where u.scope = p.unique_scope and u.key = p.unique_key and u.follower_id = p.id
    ) as follows, j.run_at <= clock_timestamp() as due, j.state = 'blocked' as blocked,
    case when j.state = 'ready' then exists (
        select from jobkit.ready r where r.queue = j.queue and r.priority = j.priority
            and r.without_permit and r.job_id = j.id
    ) end as without_permit,
    case when p.attempt = 0 and p.snoozes = 0 and (p.terms is not null or k.expires > '0')
        then p.run_at + (jobkit.terms(p.kind, p.terms)).expires end as expires_at,
    case when (p.attempt > 0 or p.waits_since > '-infinity') and (p.terms is not null
            or k.retry_for > '0') then jobkit.retry_until(jsonb_populate_record(null::jobkit.jobs,
        to_jsonb(y) || jsonb_build_object('waits_since', p.waits_since, 'terms', p.terms)))
        end as retry_until, p.waits_since, q.paused_at, q.paused_by, q.pause_reason, w.*
from jobkit.listed_jobs j join jobkit.jobs p on p.id = j.id join jobkit.shown_jobs y on y.id = j.id
left join jobkit.kinds k on k.kind = p.kind
left join jobkit.claims c on j.id = any (c.job_ids)
left join jobkit.reports r
    on (r.job_id, r.attempt, r.worker_id) = (j.id, p.attempt + 1, c.worker_id)
left join jobkit.limits q on q.scope = 'queue' and q.name = j.queue and q.paused_at is not null
cross join lateral (
    select count(*) as serving, count(*) filter (where k.knows) as knowing,
        bool_or(k.knows_kind) as knows_kind,
        sum(coalesce(k.slots, 10000)) filter (where k.knows) as slots
    from (
        select jobkit.versioned(p.kind, p.version) = any (w.kinds) as knows, exists (
                select from unnest(w.kinds) as n (name) where jobkit.unversioned(n.name) = p.kind
            ) as knows_kind,
            jobkit.slots_for(w.queues, w.slots, j.queue) as slots
        from jobkit.workers w where not w.stopping and w.lease_until > clock_timestamp()
            and (j.queue = any (w.queues) or j.queue ^@ any (w.prefixes))
    ) k
) w
where j.id = $1
