-- The applied migrations: the newest one, and the oldest binary that may work with all of them.
-- Fails with 42P01 (no table) or 3F000 (no schema) if there are none.
select coalesce(pg_catalog.max(m.version), 0) as version,
    coalesce(pg_catalog.max(m.readable_by), 0) as readable_by
from jobkit._migrations m
