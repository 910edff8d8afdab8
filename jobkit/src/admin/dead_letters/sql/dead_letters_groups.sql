-- The open dead letters by fingerprint, the group with the newest failure first. Looks up the
-- newest entry of 300 fingerprints; if there are more, it considers those of the newest 10,000
-- entries, too. Counts at most 1,001 entries of each group, in the index alone.
-- $1 how many groups at most
with recursive known as (
    (
        select 1 as n, d.fingerprint, d.failed_at from jobkit.dead_letters d
        where d.state = 'open'
        order by d.fingerprint desc, d.failed_at desc, d.id desc limit 1
    )
    union all
    select k.n + 1, e.fingerprint, e.failed_at
    from known k
    cross join lateral (
        select d.fingerprint, d.failed_at from jobkit.dead_letters d
        where d.state = 'open' and d.fingerprint < k.fingerprint
        order by d.fingerprint desc, d.failed_at desc, d.id desc limit 1
    ) e
    where k.n <= 300
), newest as (
    select d.fingerprint, d.failed_at from jobkit.dead_letters d
    where d.state = 'open' and (select count(*) from known) > 300
    order by d.failed_at desc, d.id desc limit 10000
)
select g.fingerprint, s.kind, least(c.number, 1000) as number, c.number > 1000 as more, s.id,
    left(s.error, 300) as error, c.first_failed_at, s.failed_at as last_failed_at,
    jobkit.dead_letters_lately(g.fingerprint) as lately, n.note, n.noted_by, n.noted_at,
    case when n.muted_until > now() then n.muted_until end as muted_until
from (
    select e.fingerprint, max(e.failed_at) as failed_at
    from (select k.fingerprint, k.failed_at from known k union all table newest) e
    group by e.fingerprint order by max(e.failed_at) desc limit $1
) g
cross join lateral (select d.id, d.kind, d.error, d.failed_at from jobkit.dead_letters d where
    d.state = 'open' and d.fingerprint = g.fingerprint order by d.failed_at desc, d.id desc limit 1
) s cross join lateral (
    select count(*) as number, min(e.failed_at) as first_failed_at
    from (select d.failed_at from jobkit.dead_letters d where d.state = 'open'
        and d.fingerprint = g.fingerprint order by d.failed_at, d.id limit 1001) e
) c left join jobkit.causes n on n.fingerprint = g.fingerprint order by s.failed_at desc, s.id desc
