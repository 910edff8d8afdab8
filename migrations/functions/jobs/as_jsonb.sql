-- as_jsonb: a JSON text as jsonb; null where that has no room for it: it takes no NUL, no half of a
-- surrogate and no number beyond `numeric`, and json takes them all.
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
