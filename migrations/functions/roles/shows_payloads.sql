-- shows_payloads: whether this role may see payloads. A role that may not sees jobs without them,
-- by the views `shown_…`, which read with the rights of their owner. What they call runs with the
-- search_path of the caller, so every name in these functions and views has its schema.
create or replace function jobkit.shows_payloads() returns boolean
language sql stable as $$
    select pg_catalog.has_column_privilege('jobkit.jobs'::pg_catalog.text,
        'args'::pg_catalog.text, 'select'::pg_catalog.text)
$$;
