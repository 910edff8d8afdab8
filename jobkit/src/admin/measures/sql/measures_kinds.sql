-- Measures of each kind up to now (`measured`).
-- $1 how far back
select m.kind, m.outcomes, m.numbers, m.places, m.run, m.wait
from jobkit.measured(1::smallint, now() - $1::interval, null, null, null) m
