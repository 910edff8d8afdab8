-- parked: the time at which a job is scheduled that runs again after another one: none that comes.
create or replace function jobkit.parked() returns timestamptz
language sql immutable as $$
    select timestamptz '9999-12-31 00:00:00 UTC'
$$;
