-- cause: the fingerprint of a dead letter, which is that of its last error.
create or replace function jobkit.cause(p_kind text, p_reason text, p_errors jsonb, p_error text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select jobkit.fingerprint(p_kind,
        case p_reason when 'crashed' then 'crashed' else p_errors -> -1 ->> 'error_type' end,
        p_error)
$$;
