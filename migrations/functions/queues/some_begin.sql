-- some_begin: whether one of these names begins with one of these prefixes. Not in SQL: it would be
-- part of every plan that may call it.
create or replace function jobkit.some_begin(p_names text[], p_prefixes text[]) returns boolean
language plpgsql immutable as $$
begin
    return exists (select from unnest(p_names) as n (name) where n.name ^@ any (p_prefixes));
end
$$;
