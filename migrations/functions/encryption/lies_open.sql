-- lies_open: whether a payload has a value at this path that is not sealed, also in elements of
-- arrays on the path. Null needs no seal.
create or replace function jobkit.lies_open(p_value jsonb, p_path text[]) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or jsonb_typeof(p_value) = 'null' then
        return false;
    elsif p_path = '{}' then
        return coalesce(p_value ->> 'jobkit:sealed', '') !~ '^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]+$'
            or p_value - 'jobkit:sealed' <> '{}';
    elsif jsonb_typeof(p_value) = 'array' then
        return exists (
            select from jsonb_array_elements(p_value) e where jobkit.lies_open(e.value, p_path)
        );
    elsif jsonb_typeof(p_value) = 'object' then
        return jobkit.lies_open(p_value -> p_path[1], p_path[2:]);
    end if;
    return false;
end
$$;
