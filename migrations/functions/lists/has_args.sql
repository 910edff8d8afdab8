-- has_args: whether a payload has these values at these paths. Values are compared as jsonb writes
-- them, which is how they are shown; only a value that is found is converted.
--   p_reveal  false: ignores values that the kind redacts, payloads whose redacted values cannot be
--             located, and kinds that nobody has announced
-- A payload that jsonb cannot store (`as_jsonb`) has no values, and no path leads into one with
-- escapes that jsonb refuses.
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
