-- exhausted: for the workers of version 29, which ask it for jobs to `recover`. There are none.
create or replace function jobkit.exhausted(p_after bigint, p_limit integer) returns setof bigint
language sql as $$
    select null::bigint where false
$$;
