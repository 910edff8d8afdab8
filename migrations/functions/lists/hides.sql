-- hides: whether a path of a payload leads to, into or around one of these redacted paths. Array
-- indexes are ignored: what is redacted is hidden in each element.
create or replace function jobkit.hides(p_redact text[], p_path text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select from unnest(p_redact) as r (path)
        cross join (
            select ltrim(regexp_replace(p_path, '(^|\.)\s*[-+]?\d+(?=\.|$)', '', 'g'), '.')
                || '.' as path
        ) p
        where starts_with(p.path, r.path || '.') or starts_with(r.path || '.', p.path)
            or p.path = '.'
    )
$$;
