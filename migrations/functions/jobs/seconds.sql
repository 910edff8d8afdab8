-- seconds: a JSON number as an interval of at most 366 days; null if it is not a number.
create or replace function jobkit.seconds(p_number jsonb) returns interval
language sql immutable as $$
    select case when jsonb_typeof(p_number) = 'number'
        then interval '1 second' * least(greatest(p_number::numeric, 0), 366 * 86400)::float8 end
$$;
