-- The work of an operation: a page at a time, with the place of the next page in the same
-- transaction. The operation's row is locked before all others; only a session that stops it waits
-- for that lock. Pages are not recorded in the audit: the beginning was.

-- operate: one step of an operation, unless another session works on it, it rests, or it has ended.
-- outcome: `step`, `done`, or null if nothing was done. If a step of one row fails, that row is
-- left out. An operation with a pace rests after each step for the time that its pace allows.
-- First it counts what matches, one window in each step, unless the look before its beginning saw
-- all of it. After the last window, the work starts at the beginning.
create or replace function jobkit.operate(p_id bigint, p_rows integer, out outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_operation jobkit.operations;
    v_rows integer;
    v_page record;
    v_counted bigint;
    v_last boolean;
begin
    perform jobkit.require_read_committed();
    select * into v_operation from jobkit.operations o
    where o.id = p_id and o.ended_at is null for update skip locked;
    -- A rest is a second at most: one further ahead means that the clock stepped back.
    if not found or v_operation.next_at
        between clock_timestamp() and clock_timestamp() + interval '1 s'
    then
        return;
    end if;
    v_rows := least(p_rows, 1000, v_operation.per_second);
    update jobkit.operations o set stepped_at = clock_timestamp(),
        started_at = coalesce(o.started_at, clock_timestamp()),
        state = case when o.total is null then 'counting' else 'running' end
    where o.id = p_id;
    if v_operation.total is null then
        select * into v_page from jobkit.operation_page(v_operation, null);
        v_counted := v_operation.counted + cardinality(v_page.ids);
        if v_page.last_id is null then
            update jobkit.operations o set state = 'running', counted = v_counted,
                total = v_counted, after_at = b.at, after_id = b.id
            from jobkit.place_before(v_operation.filter) b where o.id = p_id;
        else
            update jobkit.operations o set counted = v_counted, after_id = v_page.last_id,
                after_at = coalesce(v_page.last_at, o.after_at)
            where o.id = p_id;
        end if;
        outcome := 'step';
        return;
    end if;
    begin
        v_last := case when v_operation.verb in ('cancel', 'discard', 'reschedule')
            then jobkit.operate_jobs(v_operation, v_rows)
            else jobkit.operate_dead_letters(v_operation, v_rows) end;
    exception when others then
        if v_rows > 1 or sqlstate similar to '(40|55P03)%'
            or not jobkit.operate_past(v_operation, sqlerrm)
        then
            raise;
        end if;
        v_last := false;
    end;
    outcome := case when v_last then 'done' else 'step' end;
    if v_last then
        perform jobkit.operation_end(p_id, 'done', null);
    elsif v_operation.per_second is not null then
        update jobkit.operations o set next_at = clock_timestamp() + interval '1 second'
            * ((o.done - v_operation.done) / v_operation.per_second::float8)
        where o.id = p_id;
    end if;
end
$$;
