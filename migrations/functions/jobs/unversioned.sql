-- unversioned: the kind of such a name. No kind ends as a version does: a worker that has one does
-- not start.
create or replace function jobkit.unversioned(p_name text) returns text
language sql immutable as $$
    select pg_catalog.regexp_replace(p_name, '@[0-9]+$', '')
$$;
