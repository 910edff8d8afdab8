-- reap_workers: removes workers whose lease has lapsed, records them as lost, and returns them.
-- Skips a worker in the middle of a claim until the next time.
--   p_reaper  the worker that reaps; null: an operator
-- Does nothing within one lease of the server's start (in either direction, since the clock may
-- have stepped back): no worker could renew during the downtime. A worker that reaps must have held
-- its own lease for as long as the longer of both leases: after a thaw it would find all leases
-- lapsed, its own included, and a delayed request may arrive right behind its heartbeat.
create or replace function jobkit.reap_workers(p_reaper bigint default null) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    return query
    with lapsed as materialized (
        select w.id, w.name, w.started_at, w.heartbeat_at from jobkit.workers w
        where w.lease_until < clock_timestamp()
            and (p_reaper is null or exists (
                select from jobkit.workers r
                where r.id = p_reaper
                    and r.lease_until > clock_timestamp()
                    and r.steady_since + greatest(r.lease, w.lease) < clock_timestamp()
            ))
            and pg_postmaster_start_time()
                not between clock_timestamp() - w.lease and clock_timestamp() + w.lease
        order by w.id for update skip locked
    ), asleep as (
        delete from jobkit.sleepers s using lapsed l where s.worker_id = l.id
    ), lost as (
        insert into jobkit.lost_workers (id, name, jobs, started_at, heartbeat_at)
        select l.id, l.name, (
            select coalesce(sum(cardinality(c.job_ids)), 0) from jobkit.claims c
            where c.worker_id = l.id
        ), l.started_at, l.heartbeat_at
        from lapsed l
    ), forgotten as (
        delete from jobkit.lost_workers o
        where (o.lost_at, o.id) in (
            select k.lost_at, k.id from jobkit.lost_workers k
            where k.lost_at < clock_timestamp() - interval '1 day' for update skip locked
        )
    ), past as (
        delete from jobkit.stopped_workers o
        where (o.stopped_at, o.id) in (
            select k.stopped_at, k.id from jobkit.stopped_workers k
            where k.stopped_at < now() - interval '1 day' for update skip locked
        )
    )
    delete from jobkit.workers w using lapsed l
    where w.id = l.id returning w.id;
end
$$;
