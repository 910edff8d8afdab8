-- Measures in stretches of equal length up to now, by the primary key of `measures`: of the newest
-- 50,000 rows. Histograms come as places, each with its two numbers; a stretch in which nothing was
-- measured is there, too.
-- $1 how far back, $2 how long a stretch, a multiple of $3, the minutes of the rows to read; null
-- for any: $4 queue, $5 kind
with looked_at as materialized (
    select date_bin($2, m.minute, 'epoch') as at, m.outcome, m.count, m.run, m.wait
    from jobkit.measures m
    where m.span = $3 and m.minute >= date_bin($2, now() - $1::interval, 'epoch')
        and ($4::text is null or m.queue = $4) and ($5::text is null or m.kind = $5)
    order by m.minute desc limit 50000
), ended as (
    select e.at, array_agg(e.outcome) as outcomes, array_agg(e.number) as numbers
    from (select l.at, l.outcome, sum(l.count) as number from looked_at l group by 1, 2) e
    group by e.at
), took as (
    select e.at, array_agg(e.place) as places, array_agg(e.run) as run, array_agg(e.wait) as wait
    from (
        select p.at, p.place, sum(p.run) as run, sum(p.wait) as wait
        from (
            select l.at, unnest(l.run) as run, unnest(l.wait) as wait,
                generate_series(1, greatest(cardinality(l.run), cardinality(l.wait))::bigint)
                    as place
            from looked_at l
        ) p
        where p.run > 0 or p.wait > 0 group by p.at, p.place
    ) e
    group by e.at
)
select s.at, e.outcomes, e.numbers, t.places, t.run, t.wait
from generate_series(date_bin($2, now() - $1::interval, 'epoch'), now(), $2) as s (at)
left join ended e on e.at = s.at
left join took t on t.at = s.at
order by s.at
