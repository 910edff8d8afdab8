-- cancel_batch: cancels what has not ended of a batch, as one operation, and closes it. Nobody adds
-- members from then on, and those added before are all among the jobs of the operation: it waits,
-- at most a second, for open transactions that add some. Returns the operation, which is the same
-- one until it has ended; null if there is no open batch with this id. Callbacks are no members:
-- they run as after any other end.
create or replace function jobkit.cancel_batch(
    p_batch bigint, p_reason text default null, p_actor text default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_filter constant jsonb := jsonb_build_object('batch', p_batch);
    v_live bigint;
    v_operation bigint;
begin
    perform jobkit.require_read_committed();
    perform from jobkit.batches b where b.id = p_batch and b.ended_at is null for update;
    if not found then
        return null;
    end if;
    select o.id into v_operation from jobkit.operations o
    where o.ended_at is null and o.verb = 'cancel' and o.filter = v_filter
    order by o.id limit 1;
    if found then
        return v_operation;
    end if;
    update jobkit.batches b
    set closed_at = coalesce(b.closed_at, v_now), cancelled_at = coalesce(b.cancelled_at, v_now)
    where b.id = p_batch;
    insert into jobkit.batch_tallies (batch_id, outcome, jobs) values (p_batch, 'look', 0);
    -- Members that have ended are tallied, so nobody has to count the others.
    select coalesce(sum(case c.outcome when 'add' then c.jobs else -c.jobs end), 0) into v_live
    from jobkit.count_batch(p_batch) c;
    select o.operation into v_operation
    from jobkit.operation_begin('cancel', v_filter, p_reason, null, v_live, false, v_now,
        format('batch %s at %s', p_batch, extract(epoch from v_now)), p_actor) o;
    perform jobkit.wake_due(v_now);
    return v_operation;
end
$$;
