-- versioned: the name by which workers know one payload version of a kind: from the second on
-- `send_receipt@2`. (An application's session calls it with any search_path.)
create or replace function jobkit.versioned(p_kind text, p_version smallint) returns text
language sql immutable as $$
    select case when p_version is null then p_kind
        else p_kind operator(pg_catalog.||) '@' operator(pg_catalog.||) p_version::pg_catalog.text
    end
$$;
