-- some_begin: whether one of these names begins as one of these prefixes says. Not in SQL: that
-- would be a part of each plan that may ask.
create or replace function jobkit.some_begin(p_names text[], p_prefixes text[]) returns boolean
language plpgsql immutable as $$
begin
    return exists (select from unnest(p_names) as n (name) where n.name ^@ any (p_prefixes));
end
$$;
