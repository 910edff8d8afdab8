-- require_room: refuses an enqueue to a queue that is full, according to the last look of a worker.
-- If that is older than five seconds or in the future (the clock stepped back), it counts the ready
-- jobs itself; but not in a serializable transaction, where each count would conflict with the next
-- producer. Locks nothing. Runs as the owner, since producers may not read jobs.
create or replace function jobkit.require_room(p_queue text) returns boolean
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bound jobkit.bounds;
    v_most integer;
    v_full boolean;
begin
    select * into v_bound from jobkit.bounds b
    where b.queue = p_queue
        and b.open_until not between clock_timestamp() and clock_timestamp() + interval '5 s';
    select coalesce(l.waiting, l.code_waiting) into v_most from jobkit.limits l
    where l.scope = 'queue' and l.name = v_bound.queue;
    v_full := v_bound.full_since is not null;
    if v_most is not null and current_setting('transaction_isolation') <> 'serializable'
        and (v_bound.looked_at between clock_timestamp() - interval '5 s' and clock_timestamp())
            is not true
    then
        v_bound.waiting := jobkit.waiting_in(p_queue, v_most, false);
        v_full := v_bound.waiting >= v_most;
    end if;
    if v_full then
        raise exception 'jobkit: the queue "%" is full: % jobs wait, and % may',
            p_queue, v_bound.waiting, v_most
            using errcode = 'JK009', hint = 'Nothing was stored. Try again later.';
    end if;
    return true;
end
$$;
-- Roles with only USAGE of the schema learn nothing about its queues.
revoke all on function jobkit.require_room from public;
