-- require_unique: refuses an invalid unique key, and options of a key without a key.
create or replace function jobkit.require_unique(p jobkit.new_jobs) returns void
language plpgsql as $$
begin
    perform jobkit.refuse(min(case
        when (u.scope is null) <> (u.key is null) or (u.while is null) <> (u.key is null)
            or (u.on_duplicate is null) <> (u.key is null or u.while = 'coalesce')
            or (u.key is null or u.while = 'coalesce') and u.term is not null
            then 'a unique key is incomplete, or has options that do not go with it'
        when octet_length(u.scope) not between 1 and 128 then
            'the group of a unique key has 1 to 128 bytes, not ' || octet_length(u.scope)
        when octet_length(u.key) > 512 then
            'a key has 512 bytes at most, not ' || octet_length(u.key)
        when u.while not in ('queued', 'running', 'unfinished', 'coalesce') then
            'a key must be unique while queued, running or unfinished, not ' || u.while
        when u.on_duplicate not in ('skip', 'replace', 'debounce', 'run_again') then
            'on_duplicate must be skip, replace, debounce or run_again, not ' || u.on_duplicate
        when u.on_duplicate = 'run_again' and (u.while <> 'unfinished' or u.term is not null) then
            'run_again needs a key that is unique while unfinished, without a time to keep it'
        when u.term not between '1 second' and '366 days' then
            'a key is kept for 1 second to 366 days, not ' || u.term end))
    from (
        select unnest(p.unique_scope) as scope, unnest(p.unique_key) as key,
            unnest(p.unique_while) as while, unnest(p.unique_for) as term,
            unnest(p.on_duplicate) as on_duplicate
    ) u;
end
$$;
