-- What operators ask of workers, and what is left of what they did.

-- stop_worker: the worker's heart sees it with its next beat. outcome: `stop`, `already` (somebody
-- asked before, or it is stopping by itself) or `missing`.
create function jobkit.stop_worker(p_worker bigint, p_actor text default null, out outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_worker jobkit.workers;
begin
    perform jobkit.require_read_committed();
    select * into v_worker from jobkit.workers w where w.id = p_worker for no key update;
    if not found then
        outcome := 'missing';
    elsif v_worker.stopping or v_worker.stop_requested_at is not null then
        outcome := 'already';
    else
        outcome := 'stop';
        update jobkit.workers w set stop_requested_at = clock_timestamp() where w.id = p_worker;
        perform jobkit.note(p_actor, 'stop', 'worker', p_worker, '{}', v_worker.name);
    end if;
end
$$;

-- prune_audit: removes what was done longer ago than p_keep, of the oldest p_limit entries. Returns
-- how many. Ids are given out in the order of time, but for entries made in the same moment.
create function jobkit.prune_audit(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.audit a
        where a.id = any (array(
            select l.id
            from (
                select e.id, e.at from jobkit.audit e order by e.id limit p_limit
                for update skip locked
            ) l
            where l.at < clock_timestamp() - p_keep
        ))
        returning a.id
    )
    select count(*)::integer from gone
$$;
