-- end_batch: ends a batch if it is closed and empty, and makes the callbacks ready that are due. A
-- callback that will never be due is discarded. Returns how many became ready; null: another
-- session has the batch or a callback locked.
create or replace function jobkit.end_batch(p_batch bigint) returns integer
language plpgsql as $$
declare
    v_batch jobkit.batches;
    v_ends boolean;
    v_died boolean;                              -- whether a member became a dead letter
    v_failed boolean;                            -- whether one has not finished
    v_due bigint[];
    v_needless bigint[] := '{}';
    v_called integer;
begin
    select * into v_batch from jobkit.batches b
    where b.id = p_batch and b.ended_at is null for update skip locked;
    if not found then
        return (select null from jobkit.batches b where b.id = p_batch and b.ended_at is null);
    end if;
    -- A statement after the lock: it sees the members of everybody who held the batch before.
    v_ends := v_batch.closed_at is not null
        and not exists (select from jobkit.jobs j where j.batch_id = p_batch)
        and not exists (select from jobkit.batch_holds h where h.batch_id = p_batch);
    select coalesce(bool_or(c.outcome in ('bury', 'hold')), false),
        coalesce(bool_or(c.outcome not in ('add', 'finish')), false)
    into v_died, v_failed
    from jobkit.count_batch(p_batch) c;
    v_due := array_remove(array[
        case when v_ends then v_batch.then_job end,
        case when v_ends and not v_failed then v_batch.if_all_job end,
        case when v_died then v_batch.else_job end], null);
    if v_ends then
        v_needless := array_remove(array[v_batch.if_all_job, v_batch.else_job], null);
    end if;
    v_called := jobkit.wake_callbacks(v_due, v_needless);
    if v_called is null then
        return null;
    end if;
    update jobkit.batches b set ended_at = clock_timestamp() where b.id = p_batch and v_ends;
    return v_called;
end
$$;
