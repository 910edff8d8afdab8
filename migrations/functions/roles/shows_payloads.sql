-- shows_payloads: whether this role may see payloads. One that may not sees jobs without them, by
-- the views `shown_…`, which read with their owner's rights.
create or replace function jobkit.shows_payloads() returns boolean
language sql stable as $$
    select has_column_privilege('jobkit.jobs', 'args', 'select')
$$;
