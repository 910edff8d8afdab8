-- Whether a search by payload misses jobs of some kind, because the kind redacts what is searched
-- for or no worker has announced it.
-- $1 the kind, null for any; $2 the paths that are searched
select not exists (select from jobkit.kinds k where $1::text is null or k.kind = $1) or exists (
    select from jobkit.kinds k, unnest($2::text[]) as p (path)
    where ($1::text is null or k.kind = $1) and jobkit.hides(k.redact, p.path)
)
