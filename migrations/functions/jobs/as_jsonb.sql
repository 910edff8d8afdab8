-- as_jsonb: a JSON text as jsonb; null if jsonb cannot store it: json accepts a NUL, half of a
-- surrogate pair and numbers beyond `numeric`, but jsonb does not.
create or replace function jobkit.as_jsonb(p_json text) returns jsonb
language plpgsql immutable strict
set search_path = pg_catalog, pg_temp
as $$
begin
    return p_json::jsonb;
exception when data_exception or program_limit_exceeded or statement_too_complex then
    return null;
end
$$;
