-- newest_errors: the last 20 errors, with at most 64 KiB of text, but always at least one.
create or replace function jobkit.newest_errors(p_errors jsonb) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_agg(e.value order by e.place), '[]')
    from (
        select u.value, u.place, row_number() over w as nth,
            sum(octet_length(u.value::text)) over w as size
        from jsonb_array_elements(p_errors) with ordinality as u (value, place)
        window w as (order by u.place desc)
    ) e
    where e.nth = 1 or e.nth <= 20 and e.size <= 64 * 1024
$$;
