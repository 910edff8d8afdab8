-- add_histograms: the sum of two histograms.
create or replace function jobkit.add_histograms(p_one integer[], p_other integer[])
returns integer[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(coalesce(s.one, 0) + coalesce(s.other, 0) order by s.place), '{}')
    from unnest(p_one, p_other) with ordinality as s (one, other, place)
$$;
