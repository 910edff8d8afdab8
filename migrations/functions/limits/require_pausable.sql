-- require_pausable: refuses a pause of what cannot be paused.
create or replace function jobkit.require_pausable(
    p_scope text, p_name text, p_key text, p_for interval default null
) returns void
language plpgsql as $$
begin
    perform jobkit.refuse(case
        when p_scope not in ('all', 'queue', 'kind', 'key') then
            'a queue, a kind, a key or everything can be paused, but not a ' || p_scope
        when (p_scope = 'key') <> (p_key is not null) then
            'a key, and nothing else, has a text that is its key'
        when p_scope <> 'key' and p_for is not null then
            'only a key is paused for a time; anything else until it is resumed'
        when p_scope = 'all' and p_name <> '' then 'everything has no name'
        when p_scope <> 'all' and octet_length(p_name) not between 1 and 128 then
            'a name has 1 to 128 bytes, not ' || octet_length(p_name) end);
end
$$;
