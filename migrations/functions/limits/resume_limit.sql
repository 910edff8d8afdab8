-- resume_limit: TEMPORARY dispatch over the older setters; its final form replaces this file.
create or replace function jobkit.resume_limit(
    p_scope text, p_name text, p_key text default null, p_actor text default null
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
    if p_scope = 'key' then
        return jobkit.resume_key(p_name, p_key, p_actor);
    end if;
    return jobkit.resume_scope(p_scope, p_name, p_actor);
end
$$;
