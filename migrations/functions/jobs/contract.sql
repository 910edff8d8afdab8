-- contract: the version of what docs/sql.md promises to those who call these functions themselves.
create or replace function jobkit.contract() returns integer
language sql immutable as 'select 1';
