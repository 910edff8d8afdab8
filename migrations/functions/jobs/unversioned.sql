-- unversioned: the kind in a name made by `versioned`. No kind ends like a version: a worker with
-- such a kind does not start.
create or replace function jobkit.unversioned(p_name text) returns text
language sql immutable as $$
    select pg_catalog.regexp_replace(p_name, '@[0-9]+$', '')
$$;
