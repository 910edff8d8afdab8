-- What was measured of these kinds within a week (`measured`).
-- $1 kinds
select m.kind, m.outcomes, m.numbers, m.places, m.run, m.wait
from unnest($1::text[]) as k (kind)
cross join lateral jobkit.measured(15::smallint, now() - interval '7 d', null, null, k.kind) m
