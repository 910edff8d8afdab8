-- pause_limit: TEMPORARY dispatch over the older setters; its final form replaces this file.
create or replace function jobkit.pause_limit(
    p_scope text, p_name text, p_key text default null, p_for interval default null,
    p_actor text default null, p_reason text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
    if p_scope = 'key' then
        return case when jobkit.pause_key(p_name, p_key, p_for, p_actor, p_reason) then true end;
    end if;
    return jobkit.pause_scope(p_scope, p_name, p_actor, p_reason);
end
$$;
