-- require_pausable: refuses to pause what cannot be paused.
create or replace function jobkit.require_pausable(
    p_scope text, p_name text, p_key text, p_for interval default null
) returns void
language plpgsql as $$
begin
    perform jobkit.refuse(case
        when p_scope not in ('all', 'queue', 'kind', 'key') then
            'a queue, a kind, a key or everything can be paused, but not a ' || p_scope
        when (p_scope = 'key') <> (p_key is not null) then
            'the scope "key" needs a key, and no other scope takes one'
        when p_scope <> 'key' and p_for is not null then
            'only a key is paused for a limited time; all else stays paused until it is resumed'
        when p_scope = 'all' and p_name <> '' then 'the scope "all" takes no name'
        when p_scope <> 'all' and octet_length(p_name) not between 1 and 128 then
            'a name must have 1 to 128 bytes, not ' || octet_length(p_name) end);
end
$$;
