-- fingerprint: the same for failures that have the same cause, as far as their texts tell.
create or replace function jobkit.fingerprint(p_kind text, p_error_type text, p_error text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select left(md5(concat_ws(E'\n', p_kind, coalesce(p_error_type, ''), jobkit.fold(p_error))), 16)
$$;
