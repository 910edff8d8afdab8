-- require_options: refuses what would make a job that no claim finds or no worker runs. Null: as
-- it is elsewhere.
create or replace function jobkit.require_options(
    p_queue text, p_priority integer, p_max_attempts integer, variadic p_keys text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.refuse(case
        when octet_length(p_queue) not between 1 and 128 then
            'the name of a queue has 1 to 128 bytes, not ' || octet_length(p_queue)
        when p_priority not between -3 and 3 then 'a priority is -3 to 3, not ' || p_priority
        when p_max_attempts not between 1 and 1000 then
            'a number of attempts is 1 to 1000, not ' || p_max_attempts
        when k.bytes > 512 then 'a key has 512 bytes at most, not ' || k.bytes end)
    from (select max(octet_length(k.key)) as bytes from unnest(p_keys) as k (key)) k;
end
$$;
