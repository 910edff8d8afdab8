-- set_limit: TEMPORARY dispatch over the older setters; its final form replaces this file.
create or replace function jobkit.set_limit(
    p_scope text, p_name text, p_key text, p_rule jsonb, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_every interval;
    v_burst integer;
    v_known boolean := true;
    v_aspect text;
begin
    for v_aspect in select jsonb_object_keys(p_rule) loop
        if v_aspect = 'rate' then
            v_every := case when p_rule->>'rate' = 'none' then '0'
                else (p_rule#>>'{rate,every}')::interval end;
            v_burst := case when p_rule->>'rate' = 'none' then 1
                else coalesce((p_rule#>>'{rate,burst}')::integer,
                    least(greatest(1, floor(1 / extract(epoch from v_every))), 1000000)) end;
            if p_scope = 'key' then
                v_known := jobkit.rate_key(p_name, p_key, v_every, v_burst, p_actor);
            elsif p_scope in ('group', 'limiter') then
                v_known := jobkit.rate_group(p_name, v_every, v_burst, p_actor);
            else
                perform jobkit.limit_rate(p_scope, p_name,
                    case when v_every > '0' then 1 end, v_every, v_burst, p_actor);
            end if;
        elsif v_aspect = 'running' then
            if p_scope = 'key' then
                v_known := jobkit.limit_key(
                    p_name, p_key, nullif(p_rule->>'running', 'none')::integer, p_actor);
            elsif p_scope in ('group', 'limiter') then
                v_known := jobkit.limit_group(
                    p_name, nullif(p_rule->>'running', 'none')::integer, p_actor);
            else
                perform jobkit.limit_running(
                    p_scope, p_name, nullif(p_rule->>'running', 'none')::integer, p_actor);
            end if;
        else
            perform jobkit.bound_queue(
                p_name, nullif(p_rule->>'waiting', 'none')::integer, p_actor);
        end if;
    end loop;
    return case when v_known then true end;
end
$$;
