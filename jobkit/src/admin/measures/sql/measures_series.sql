-- Measures in intervals of equal length up to now (`measured`), including intervals in which
-- nothing was measured.
-- $1 how far back, $2 the length of an interval, a multiple of $3, the minutes of the rows to read;
-- null for any: $4 queue, $5 kind
select s.at, m.outcomes, m.numbers, m.places, m.run, m.wait
from generate_series(date_bin($2, now() - $1::interval, 'epoch'), now(), $2) as s (at)
left join jobkit.measured($3, date_bin($2, now() - $1::interval, 'epoch'), $2, $4, $5) m
    on m.at = s.at
order by s.at
