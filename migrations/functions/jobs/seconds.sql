-- seconds: a number of JSON as an interval, 366 days at most; null if it is none.
create or replace function jobkit.seconds(p_number jsonb) returns interval
language sql immutable as $$
    select case when jsonb_typeof(p_number) = 'number'
        then interval '1 second' * least(greatest(p_number::numeric, 0), 366 * 86400)::float8 end
$$;
