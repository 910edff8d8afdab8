-- Measures as they are stored, per quarter of an hour, in order.
-- $1 from this quarter on; null: those that may not be over yet
select m.minute as at, m.queue, m.kind, m.outcome, m.count, m.run, m.wait
from jobkit.measures m
where m.span = 15
    and m.minute >= coalesce($1, date_bin('15 min', now(), 'epoch') - interval '15 min')
order by m.minute, m.queue, m.kind, m.outcome limit 50000
