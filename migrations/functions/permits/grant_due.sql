-- grant_due: grants permits of up to p_limit keys whose `due_at` has come, which only waited for
-- time. Several workers at once take different keys.
-- Returns how many jobs became ready, and how long until the next key is due. If a key fails, keys
-- are done one by one, and the failing key waits for a moment.
create or replace function jobkit.grant_due(
    p_limit integer, out granted integer, out next_in interval
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_due record;
begin
    granted := 0;
    if exists (select from jobkit.due_keys d where d.due_at <= v_now) then
        perform jobkit.decide_lock();
        delete from jobkit.due_keys d
        where d.due_at < v_now - interval '1 min' and not exists (
            select from jobkit.semaphores s where s.concurrency_group = d.concurrency_group
                and s.concurrency_key = d.concurrency_key
        );
        select array_agg(d.grp) as groups, array_agg(d.key) as keys into v_due
        from (
            select k.concurrency_group as grp, k.concurrency_key as key from jobkit.due_keys k
            cross join lateral (
                select from jobkit.semaphores s where s.concurrency_group = k.concurrency_group
                    and s.concurrency_key = k.concurrency_key for update skip locked
            ) locked
            where k.due_at <= v_now order by k.due_at limit p_limit
        ) d;
        begin
            granted := jobkit.grant_and_wake(v_due.groups, v_due.keys, null);
        exception when others then
            if sqlstate like '40%' then
                raise;
            end if;
            for v_at in 1..cardinality(v_due.keys) loop
                begin
                    granted := granted + jobkit.grant_and_wake(
                        v_due.groups[v_at:v_at], v_due.keys[v_at:v_at], null);
                exception when others then
                    update jobkit.due_keys k set due_at = v_now + interval '5 s'
                    where k.concurrency_group = v_due.groups[v_at]
                        and k.concurrency_key = v_due.keys[v_at];
                end;
            end loop;
        end;
    end if;
    select min(d.due_at) - clock_timestamp() into next_in from jobkit.due_keys d;
end
$$;
