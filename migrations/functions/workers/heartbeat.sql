-- heartbeat: renews the lease of a worker. A lapsed lease may be renewed, too.
--   p_begun  the jobs of all claims up to this number have begun: they are no longer claimed ahead,
--            and a crash from now on is charged to them
-- Returns alive: false if the worker was reaped; lapsed: the lease had a gap, or the clock stepped
-- back behind the last beat, so earlier times mean nothing; cancel: running jobs of this worker
-- that are to be cancelled; stop: the worker is asked to stop.
create or replace function jobkit.heartbeat(
    p_worker bigint, p_stopping boolean, p_begun bigint default null,
    out alive boolean, out lapsed boolean, out stop boolean, out cancel bigint[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
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
    -- A claim that is being settled is left to the next beat: this one waits for nobody.
    update jobkit.claims c set ahead = false
    where c.ctid = any (array(
        select a.ctid from jobkit.claims a
        where a.worker_id = p_worker and a.n <= p_begun and a.ahead for update skip locked
    ));
    -- A lease that ends later than one that begins now was renewed before the clock stepped back:
    -- cut, it delays the jobs of a dead worker by one lease at most. Live workers renew within it.
    update jobkit.workers w set lease_until = clock_timestamp() + w.lease
    where w.id = any (array(
        select l.id from jobkit.workers l where l.lease_until > clock_timestamp() + l.lease
        for no key update skip locked
    ));
    cancel := array(
        select j.id from jobkit.jobs j
        where j.cancel_requested_at is not null
            and exists (
                select from jobkit.claims c where c.worker_id = p_worker and j.id = any (c.job_ids)
            )
    );
end
$$;
