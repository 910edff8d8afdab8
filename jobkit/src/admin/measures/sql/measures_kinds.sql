-- Measures of each kind up to now, by the primary key of `measures`: of the newest 50,000 rows.
-- Histograms come as places, each with its two numbers.
-- $1 how far back
with looked_at as materialized (
    select m.kind, m.outcome, m.count, m.run, m.wait from jobkit.measures m
    where m.span = 1 and m.minute >= now() - $1::interval order by m.minute desc limit 50000
), ended as (
    select e.kind, array_agg(e.outcome) as outcomes, array_agg(e.number) as numbers
    from (select l.kind, l.outcome, sum(l.count) as number from looked_at l group by 1, 2) e
    group by e.kind
), took as (
    select e.kind, array_agg(e.place) as places, array_agg(e.run) as run, array_agg(e.wait) as wait
    from (
        select p.kind, p.place, sum(p.run) as run, sum(p.wait) as wait
        from (
            select l.kind, unnest(l.run) as run, unnest(l.wait) as wait,
                generate_series(1, greatest(cardinality(l.run), cardinality(l.wait))::bigint)
                    as place
            from looked_at l
        ) p
        where p.run > 0 or p.wait > 0 group by p.kind, p.place
    ) e
    group by e.kind
)
select e.kind, e.outcomes, e.numbers, t.places, t.run, t.wait
from ended e
left join took t on t.kind = e.kind
