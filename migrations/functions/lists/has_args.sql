-- has_args: whether a payload has these values at these paths. Without p_reveal no value counts
-- that its kind redacts, none of a payload in which nobody can tell where that is, and none of a
-- kind that nobody has announced. A value is compared as jsonb writes it, which is how it is shown:
-- only what is found is made that. A payload that jsonb has no room for (`as_jsonb`) has no values;
-- no path leads into one that escapes what jsonb does not take.
create or replace function jobkit.has_args(
    p_kind text, p_args json, p_paths text[], p_values text[], p_reveal boolean
) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select not exists (
        select from unnest(p_paths, p_values) as w (path, value)
        where (jobkit.as_jsonb((
                case when strpos(p_args::text, E'\\u') = 0
                    or jobkit.as_jsonb(p_args::text) is not null then p_args end
                #> string_to_array(w.path, '.'))::text) #>> '{}')
                is distinct from w.value
            or not p_reveal and coalesce(
                (select jobkit.hides(k.redact, w.path) or exists (
                    select from unnest(k.redact) as r (path)
                    where jobkit.strays(
                        jobkit.as_jsonb(p_args::text), string_to_array(r.path, '.')))
                from jobkit.kinds k where k.kind = p_kind),
                true)
    )
$$;
