-- Whether no job of some kind is found by its payload, since the kind redacts what is looked for or
-- nobody has announced it.
-- $1 the kind, null for any; $2 the paths that are looked for
select not exists (select from jobkit.kinds k where $1::text is null or k.kind = $1) or exists (
    select from jobkit.kinds k, unnest($2::text[]) as p (path)
    where ($1::text is null or k.kind = $1) and jobkit.hides(k.redact, p.path)
)
