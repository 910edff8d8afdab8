-- Workers whose lease lapsed: noted by who reaps them, and kept for a day, so that operators hear
-- of them although their rows are gone.
create table jobkit.lost_workers (
    id bigint not null,
    name text not null,
    lost_at timestamptz not null default clock_timestamp(),
    jobs integer not null,                       -- it had in hand
    primary key (lost_at, id)
);

-- reap_workers: removes workers whose lease has lapsed, notes them as lost and says which. One in
-- the middle of a claim is skipped until the next time. Not within one lease of the server's start,
-- before or after by a clock that may have stepped back: nobody could renew while it was down. And
-- not by a worker without a lease of its own (p_reaper; null = an operator), held for one whole
-- lease, of its own and of the other, by this clock: after a thaw it would find everyone lapsed,
-- itself among them, and a request that a network held back may arrive right behind such a
-- heartbeat.
create function jobkit.reap_workers(p_reaper bigint default null) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    return query
    with lapsed as materialized (
        select w.id, w.name from jobkit.workers w
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
        insert into jobkit.lost_workers (id, name, jobs)
        select l.id, l.name, (
            select coalesce(sum(cardinality(c.job_ids)), 0) from jobkit.claims c
            where c.worker_id = l.id
        )
        from lapsed l
    ), forgotten as (
        delete from jobkit.lost_workers o
        where (o.lost_at, o.id) in (
            select k.lost_at, k.id from jobkit.lost_workers k
            where k.lost_at < clock_timestamp() - interval '1 day' for update skip locked
        )
    )
    delete from jobkit.workers w using lapsed l
    where w.id = l.id returning w.id;
end
$$;

-- orphaned_claims: claims that have no worker, never judged by a lease; but none of which all jobs
-- are stuck.
create function jobkit.orphaned_claims() returns table (worker_id bigint, n bigint)
language sql
set search_path = pg_catalog, pg_temp
as $$
    select c.worker_id, c.n from jobkit.claims c
    where not exists (select from jobkit.workers w where w.id = c.worker_id)
        and not c.job_ids <@ (select jobkit.stuck())
    order by c.worker_id, c.n
$$;

-- reap_claim: takes back one orphaned claim, and charges each of its jobs a crashed attempt.
-- After the first crash a job runs again at once, from the second in a row after a wait.
-- With p_jobs only those: the others, and those that are stuck, stay in the claim.
-- Returns how many jobs it took back; 0 when the claim is gone, held or not orphaned.
create function jobkit.reap_claim(p_worker bigint, p_n bigint, p_jobs bigint[] default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_claim jobkit.claims;
    v_ids bigint[];
    v_freed record;
    v_job jobkit.jobs;
    v_queues text[] := '{}';
    v_count integer := 0;
begin
    perform jobkit.gate();
    select * into v_claim from jobkit.claims c
    where c.worker_id = p_worker and c.n = p_n for update skip locked;
    if not found or exists (select from jobkit.workers w where w.id = p_worker) then
        return 0;
    end if;
    v_ids := jobkit.unclaim(v_claim, p_jobs);
    select * into v_freed from jobkit.signal(v_ids);
    perform from jobkit.jobs j where j.id = any (v_ids) order by j.id for update;
    for v_job in
        select * from jobkit.jobs j where j.id = any (v_ids)
        order by j.kind, j.dead_letter_key, j.dead_letter_id, j.id
    loop
        v_count := v_count + 1;
        if jobkit.crash(v_job, p_worker,
            format('the worker died: no heartbeat of worker %s', to_hex(p_worker))) = 'ready'
        then
            v_queues := v_queues || v_job.queue;
        end if;
    end loop;
    perform jobkit.fill_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues);
    end if;
    return v_count;
end
$$;

-- crash: charges a job an attempt whose worker did not live to tell, and says where it went.
-- The wait from the second crash on is our own: a reaper may not know the kind.
create function jobkit.crash(p_job jobkit.jobs, p_worker bigint, p_error text) returns text
language plpgsql as $$
declare
    v_attempt constant integer := p_job.attempt + 1;
    v_run_at timestamptz := clock_timestamp();
begin
    if p_job.cancel_requested_at is not null then
        perform jobkit.finish(p_job, 'cancel', v_attempt, 'cancelled',
            (select k.retention from jobkit.kinds k where k.kind = p_job.kind), p_worker, null);
        return 'cancel';
    end if;
    perform jobkit.log_attempt(p_job.id, v_attempt, 'crash', p_error, null, p_worker, null);
    if v_attempt >= p_job.max_attempts then
        perform jobkit.bury(p_job, v_attempt, 'crashed', p_error, p_worker);
        return 'bury';
    end if;
    if p_job.crashes > 0 then
        v_run_at := v_run_at + interval '1 second'
            * least(86400, (15 + power(v_attempt, 4)) * (0.9 + 0.2 * random()));
    end if;
    update jobkit.jobs j
    set attempt = v_attempt, crashes = j.crashes + 1, run_at = v_run_at
    where j.id = p_job.id;
    if p_job.crashes > 0 then
        perform jobkit.make_scheduled(p_job.id, v_run_at, true);
        return 'scheduled';
    end if;
    perform jobkit.make_ready(p_job);
    return 'ready';
end
$$;

-- release_lost: gives back claims whose reply never reached their worker: numbered up to
-- p_concluded, yet not among p_held. Uncharged, but for a job that was asked for alone
-- (p_suspect lists such calls): its payload may be what cuts the connection.
-- With p_jobs only those: the others, and those that are stuck, stay where they are.
create function jobkit.release_lost(
    p_worker bigint, p_concluded bigint, p_held bigint[], p_suspect bigint[],
    p_jobs bigint[] default null
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_claim jobkit.claims;
    v_taken bigint[];
    v_ids bigint[] := '{}';
    v_suspects bigint[] := '{}';
    v_freed record;
    v_job jobkit.jobs;
    v_queues text[] := '{}';
    v_count integer := 0;
begin
    perform jobkit.gate();
    for v_claim in
        select * from jobkit.claims c
        where c.worker_id = p_worker and c.n <= p_concluded and c.n <> all (p_held)
        order by c.n for update skip locked
    loop
        v_taken := jobkit.unclaim(v_claim, p_jobs);
        v_ids := v_ids || v_taken;
        if v_claim.n = any (p_suspect) then
            v_suspects := v_suspects || v_taken;
        end if;
    end loop;
    if v_ids = '{}' then
        return 0;
    end if;
    select * into v_freed from jobkit.signal(v_ids);
    perform from jobkit.jobs j where j.id = any (v_ids) order by j.id for update;
    for v_job in
        select * from jobkit.jobs j where j.id = any (v_ids)
        order by j.kind, j.dead_letter_key, j.dead_letter_id, j.id
    loop
        v_count := v_count + 1;
        v_queues := v_queues || v_job.queue;
        if v_job.id = any (v_suspects) then
            perform jobkit.crash(v_job, p_worker,
                'claimed alone, and the answer with its payload was lost');
        else
            perform jobkit.settle_one(v_job, p_worker, 'release', null, null, null, null,
                null, null);
        end if;
    end loop;
    perform jobkit.fill_and_wake(v_freed.groups, v_freed.keys, v_freed.freed);
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues);
    end if;
    return v_count;
end
$$;
