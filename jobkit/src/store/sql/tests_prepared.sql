-- Whether a database is as the start of a worker would leave it, without a lock.
-- $1 kinds, $2 days of the history that are to be there
select not exists (
    select from unnest($1::text[]) as i (kind)
    where not exists (select from jobkit.kinds k where k.kind = i.kind)
) as announced, not exists (
    select from generate_series(0, $2::integer) d
    where not exists (
        select from jobkit.finished_days f where f.day = (now() at time zone 'UTC')::date + d
    )
) as has_days
