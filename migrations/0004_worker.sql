-- register: a worker begins, with a lease of its own. p_slots: how many jobs of each queue it runs
-- at a time, for those who ask why a job waits.
create function jobkit.register(
    p_worker bigint, p_name text, p_queues text[], p_kinds text[], p_lease interval,
    p_slots integer[] default '{}'
) returns void
language sql as $$
    insert into jobkit.workers (id, name, queues, kinds, lease, lease_until, slots)
    values (p_worker, p_name, p_queues, p_kinds, p_lease, clock_timestamp() + p_lease, p_slots)
$$;

-- announce: what a worker's binary says of its kinds; the last start wins. Sorted, so that
-- starting workers do not deadlock; unchanged rows are not written.
create function jobkit.announce(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_retention interval[], p_group text[], p_limit integer[],
    p_auto_replay interval[] default '{}', p_max_cycles integer[] default '{}',
    p_redact text[] default '{}'                 -- of each kind with commas between
) returns void
language sql as $$
    insert into jobkit.kinds as k (kind, queue, priority, max_attempts, retention,
        concurrency_group, concurrency_limit, auto_replay, max_cycles, redact)
    select i.kind, i.queue, i.priority, i.max_attempts, i.retention, i.grp, i.lim, i.auto_replay,
        coalesce(i.max_cycles, 0), coalesce(string_to_array(i.redact, ','), '{}')
    from unnest(p_kind, p_queue, p_priority, p_max_attempts, p_retention, p_group, p_limit,
            p_auto_replay, p_max_cycles, p_redact)
        as i (kind, queue, priority, max_attempts, retention, grp, lim, auto_replay, max_cycles,
            redact)
    order by i.kind
    on conflict (kind) do update set queue = excluded.queue, priority = excluded.priority,
        max_attempts = excluded.max_attempts, retention = excluded.retention,
        concurrency_group = excluded.concurrency_group,
        concurrency_limit = excluded.concurrency_limit, auto_replay = excluded.auto_replay,
        max_cycles = excluded.max_cycles, redact = excluded.redact, announced_at = clock_timestamp()
    where (k.queue, k.priority, k.max_attempts, k.retention, k.concurrency_group,
            k.concurrency_limit, k.auto_replay, k.max_cycles, k.redact)
        is distinct from (excluded.queue, excluded.priority, excluded.max_attempts,
            excluded.retention, excluded.concurrency_group, excluded.concurrency_limit,
            excluded.auto_replay, excluded.max_cycles, excluded.redact)
$$;

-- cap_leases: a lease that ends later than one that begins now was renewed before the clock stepped
-- back. It is cut to that, so that the step costs a dead worker's jobs no more than one lease; who
-- lives beats within it. Rows that somebody holds are passed over until the next beat of anybody.
create function jobkit.cap_leases() returns void
language sql as $$
    update jobkit.workers w set lease_until = clock_timestamp() + w.lease
    where w.id = any (array(
        select l.id from jobkit.workers l where l.lease_until > clock_timestamp() + l.lease
        for no key update skip locked
    ))
$$;

-- heartbeat: renews the lease. A lapsed lease may be renewed; a reaped worker's row is gone, and
-- then `alive` is false. `lapsed` says that the lease had a gap, or that the clock has stepped back
-- behind the last beat, and no time before this one means anything. `cancel` lists jobs this worker
-- runs that somebody wants cancelled; `stop` asks the worker to stop.
create function jobkit.heartbeat(
    p_worker bigint, p_stopping boolean,
    out alive boolean, out lapsed boolean, out stop boolean, out cancel bigint[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    select true, clock_timestamp() not between w.heartbeat_at and w.lease_until,
        w.stop_requested_at is not null
    into alive, lapsed, stop
    from jobkit.workers w where w.id = p_worker for no key update;
    if not found then
        alive := false;
        return;
    end if;
    update jobkit.workers w
    set heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + w.lease,
        stopping = p_stopping,
        steady_since = case when lapsed then clock_timestamp() else w.steady_since end
    where w.id = p_worker;
    perform jobkit.cap_leases();
    cancel := array(
        select j.id from jobkit.jobs j
        where j.cancel_requested_at is not null
            and exists (
                select from jobkit.claims c where c.worker_id = p_worker and j.id = any (c.job_ids)
            )
    );
end
$$;

-- deregister: a worker ends. Its claims, if any are left, are then anybody's to reap.
create function jobkit.deregister(p_worker bigint) returns void
language sql as $$
    delete from jobkit.workers where id = p_worker;
    delete from jobkit.sleepers where worker_id = p_worker;
$$;
