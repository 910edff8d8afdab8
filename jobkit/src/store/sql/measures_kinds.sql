-- Measures of each kind up to now, by the primary key of `measures`: of the newest 100,000 rows.
-- $1 how far back
with looked_at as materialized (
    select m.kind, m.outcome, m.count, m.run, m.wait from jobkit.measures m
    where m.minute >= now() - $1::interval order by m.minute desc limit 100000
), ended as (
    select e.kind, array_agg(e.outcome) as outcomes, array_agg(e.number) as numbers
    from (select l.kind, l.outcome, sum(l.count) as number from looked_at l group by 1, 2) e
    group by e.kind
), run as (
    select e.kind, array_agg(e.number order by e.place) as run
    from (
        select l.kind, r.place, sum(r.number)::bigint as number
        from looked_at l cross join unnest(l.run) with ordinality as r (number, place)
        group by l.kind, r.place
    ) e
    group by e.kind
), wait as (
    select e.kind, array_agg(e.number order by e.place) as wait
    from (
        select l.kind, w.place, sum(w.number)::bigint as number
        from looked_at l cross join unnest(l.wait) with ordinality as w (number, place)
        group by l.kind, w.place
    ) e
    group by e.kind
)
select e.kind, e.outcomes, e.numbers, r.run, w.wait
from ended e left join run r on r.kind = e.kind left join wait w on w.kind = e.kind
