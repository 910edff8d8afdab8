-- patience: how long after a job was due duplicates of its unique key still hold it where it waits.
create or replace function jobkit.patience() returns interval
language sql immutable as $$
    select interval '5 seconds'
$$;
