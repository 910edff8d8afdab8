-- limit_rate: lets at most p_count jobs of a queue or kind begin within p_interval.
--   p_count  null removes the rate
--   p_burst  how many may begin at the same time; null: as many as in one second
-- What was used of an earlier rate still counts, up to a whole burst.
create or replace function jobkit.limit_rate(
    p_scope text, p_name text, p_count integer, p_interval interval default null,
    p_burst integer default null, p_actor text default null
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_interval constant interval := case when p_count is not null then p_interval end;
    v_burst integer;
begin
    perform jobkit.require_brake(p_scope, p_name);
    perform jobkit.refuse(case
        when p_count not between 1 and 1000000 then
            'the count of a rate is 1 to 1000000, not ' || p_count
        when p_count is not null and (p_interval between '100 us' and '366 d') is not true then
            'the time of a rate is 100 us to 366 days, not ' || coalesce(p_interval::text, 'null')
        when p_count is not null and p_burst not between 1 and 1000000 then
            'a burst is 1 to 1000000, not ' || p_burst end);
    v_burst := case when p_count is not null then coalesce(p_burst,
        least(greatest(1, floor(p_count / extract(epoch from p_interval))), 1000000)) end;
    lock table jobkit.queues in exclusive mode;
    insert into jobkit.brakes as b (scope, name, rate_count, rate_interval, rate_burst)
    values (p_scope, p_name, p_count, v_interval, v_burst)
    on conflict (scope, name) do update
        set rate_count = p_count, rate_interval = v_interval, rate_burst = v_burst,
            next_at = least(
                b.next_at, clock_timestamp() + v_interval * (v_burst::float8 / p_count));
    perform jobkit.note(p_actor, 'rate', p_scope, null, jsonb_build_object(
        'count', p_count, 'interval', v_interval::text, 'burst', v_burst), p_name);
    perform jobkit.release_brake(p_scope, p_name);
end
$$;
