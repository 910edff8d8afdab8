-- strays: whether a path of a payload leads to a value of an unexpected type: neither null, nor an
-- object with the next key, nor, below the root, an array of such objects. Then it is unknown what
-- must not be shown. An object that is empty, or sealed as a whole, has nothing to show.
create or replace function jobkit.strays(
    p_value jsonb, p_path text[], p_is_root boolean default true
) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or jsonb_typeof(p_value) = 'null' or p_path = '{}' then
        return false;
    elsif jsonb_typeof(p_value) = 'object' then
        return case when p_value ? p_path[1]
            then jobkit.strays(p_value -> p_path[1], p_path[2:], false)
            else not p_is_root and p_value - 'jobkit:sealed' <> '{}' end;
    elsif jsonb_typeof(p_value) = 'array' and not p_is_root then
        return exists (
            select from jsonb_array_elements(p_value) e
            where jobkit.strays(e.value, p_path, false)
        );
    end if;
    return true;
end
$$;
