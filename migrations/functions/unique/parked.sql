-- parked: the run_at of a job that runs after another one: a time that never comes.
create or replace function jobkit.parked() returns timestamptz
language sql immutable as $$
    select timestamptz '9999-12-31 00:00:00 UTC'
$$;
