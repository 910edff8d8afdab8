-- fingerprint: a text that is equal for failures with the same cause, as far as their messages
-- show.
create or replace function jobkit.fingerprint(p_kind text, p_error_type text, p_error text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select left(md5(concat_ws(E'\n', p_kind, coalesce(p_error_type, ''), jobkit.fold(p_error))), 16)
$$;
