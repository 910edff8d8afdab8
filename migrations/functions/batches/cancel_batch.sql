-- cancel_batch: cancels what has not ended of a batch, as one operation, and closes it. Nobody adds
-- members from then on, and those added before are all among the jobs of the operation: it waits,
-- at most a second, for open transactions that add some. Returns the operation; null if there is no
-- open batch with this id. A second call returns the same one. Callbacks are no members: they run as after any other end.
create or replace function jobkit.cancel_batch(
    p_batch bigint, p_reason text default null, p_actor text default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_operation bigint;
begin
    perform jobkit.require_read_committed();
    perform from jobkit.batches b where b.id = p_batch and b.ended_at is null for update;
    if not found then
        return null;
    end if;
    update jobkit.batches b
    set closed_at = coalesce(b.closed_at, v_now), cancelled_at = coalesce(b.cancelled_at, v_now)
    where b.id = p_batch;
    insert into jobkit.batch_tallies (batch_id, outcome, jobs) values (p_batch, 'look', 0);
    select o.operation into v_operation
    from jobkit.operation_begin('cancel', jsonb_build_object('batch', p_batch), p_reason, null,
        (select count(*) from jobkit.jobs j where j.batch_id = p_batch), false, v_now,
        'cancel batch ' || p_batch, p_actor) o;
    perform jobkit.wake_due(v_now);
    return v_operation;
end
$$;
