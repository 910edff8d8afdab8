-- place_before: the place before the first page of a filter.
create or replace function jobkit.place_before(p_filter jsonb, out at timestamptz, out id bigint)
language sql stable as $$
    select coalesce((p_filter ->> 'failed_after')::timestamptz, '-infinity'),
        case when p_filter ? 'failed_after' then 9223372036854775807
            else -9223372036854775808 end
$$;
