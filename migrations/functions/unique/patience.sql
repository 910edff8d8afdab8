-- patience: for how long after a waiting job is due duplicates of its unique key still hold it
-- there.
create or replace function jobkit.patience() returns interval
language sql immutable as $$
    select interval '5 seconds'
$$;
