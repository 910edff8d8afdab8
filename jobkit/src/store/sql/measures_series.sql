-- Measures in stretches of equal length up to now, by the primary key of `measures`: of the newest
-- 100,000 rows. A stretch in which nothing was measured is there, too.
-- $1 how far back, $2 how long a stretch; $3 queue, $4 kind: null for any
with looked_at as materialized (
    select date_bin($2, m.minute, 'epoch') as at, m.outcome, m.count, m.run, m.wait
    from jobkit.measures m
    where m.minute >= date_bin($2, now() - $1::interval, 'epoch')
        and ($3::text is null or m.queue = $3) and ($4::text is null or m.kind = $4)
    order by m.minute desc limit 100000
), ended as (
    select e.at, array_agg(e.outcome) as outcomes, array_agg(e.number) as numbers
    from (select l.at, l.outcome, sum(l.count) as number from looked_at l group by 1, 2) e
    group by e.at
), run as (
    select e.at, array_agg(e.number order by e.place) as run
    from (
        select l.at, r.place, sum(r.number)::bigint as number
        from looked_at l cross join unnest(l.run) with ordinality as r (number, place)
        group by l.at, r.place
    ) e
    group by e.at
), wait as (
    select e.at, array_agg(e.number order by e.place) as wait
    from (
        select l.at, w.place, sum(w.number)::bigint as number
        from looked_at l cross join unnest(l.wait) with ordinality as w (number, place)
        group by l.at, w.place
    ) e
    group by e.at
)
select s.at, e.outcomes, e.numbers, r.run, w.wait
from generate_series(date_bin($2, now() - $1::interval, 'epoch'), now(), $2) as s (at)
left join ended e on e.at = s.at left join run r on r.at = s.at left join wait w on w.at = s.at
order by s.at
