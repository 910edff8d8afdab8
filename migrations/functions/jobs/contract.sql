-- contract: the version of what docs/sql.md promises to callers of these functions.
create or replace function jobkit.contract() returns integer
language sql immutable as 'select 1';
