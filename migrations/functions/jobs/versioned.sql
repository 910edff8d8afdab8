-- versioned: the name by which workers know a kind in one version of its payload: from the second
-- on `send_receipt@2`. (The statement of an application's session calls it, whatever the path.)
create or replace function jobkit.versioned(p_kind text, p_version smallint) returns text
language sql immutable as $$
    select case when p_version is null then p_kind
        else p_kind operator(pg_catalog.||) '@' operator(pg_catalog.||) p_version::pg_catalog.text
    end
$$;
