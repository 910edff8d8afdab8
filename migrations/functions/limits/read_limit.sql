-- read_limit: reads and checks what an operator sets for a limit:
--   {"running": 3, "rate": {"every": "600 ms", "burst": 20}, "waiting": 10000}
-- A part that is left out or null is not set, so the code's limit applies; "none" removes the
-- limit. The default `burst` is what the rate allows in one second.
-- Rates are returned without days, which could not be divided.
create or replace function jobkit.read_limit(
    p_scope text, p_rule jsonb,
    out running integer, out every interval, out burst integer, out waiting integer
)
language plpgsql as $$
declare
    v_rate constant jsonb := p_rule->'rate';
begin
    perform jobkit.refuse(case
        when p_scope = 'all' then 'the scope "all" cannot be limited, only paused'
        when p_scope not in ('queue', 'kind', 'group', 'limiter', 'key') then
            'a limit is set for a queue, kind, group, limiter or key, not for ' || p_scope
        when jsonb_typeof(p_rule) is distinct from 'object'
            or p_rule - '{running,rate,waiting}'::text[] <> '{}' then
            'a limit has the parts running, rate and waiting, not '
                || coalesce(p_rule::text, 'null')
        when jsonb_typeof(v_rate) not in ('object', 'null') and v_rate <> '"none"' then
            'a rate must be {"every": "1 s", "burst": 1}, "none" or null, not ' || v_rate::text
        when p_rule ? 'running' and p_scope = 'limiter' then
            'a limiter has only a rate, and no limit of running jobs'
        when p_rule ? 'waiting' and p_scope <> 'queue' then
            'only a queue limits how many jobs may wait' end);
    running := case p_rule->>'running' when 'none' then '2147483647'
        else p_rule->>'running' end;
    waiting := case p_rule->>'waiting' when 'none' then '2147483647'
        else p_rule->>'waiting' end;
    every := case when v_rate = '"none"' then '0'
        else make_interval(secs => extract(epoch from (v_rate->>'every')::interval)::float8) end;
    burst := case when v_rate = '"none"' then '1' else v_rate->>'burst' end;
    if burst is null and every > '0' then
        burst := least(greatest(1, floor(1 / extract(epoch from every))), 1000000);
    end if;
    perform jobkit.refuse(case
        when jsonb_typeof(v_rate) = 'object' and every is null then
            'a rate needs "every", the time from one job to the next'
        when running not between 0 and 1000000 and running <> 2147483647 then
            'a limit of running jobs must be 0 to 1000000, not ' || running
        when v_rate <> '"none"' and every not between '100 us' and '30 d' then
            'the time between two jobs of a rate must be 100 us to 30 days, not ' || every::text
        when burst not between 1 and 1000000 then
            'a burst must be 1 to 1000000, not ' || burst
        when waiting not between 1 and 1000000 and waiting <> 2147483647 then
            'a limit of waiting jobs must be 1 to 1000000, not ' || waiting end);
end
$$;
