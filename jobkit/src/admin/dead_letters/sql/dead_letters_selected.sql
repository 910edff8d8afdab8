-- Those of these dead letters that exist, in the order of their ids.
-- $1 dead letters
select d.id, d.state, d.kind, d.queue, d.key, d.reason, left(d.error, 300) as error, d.fingerprint,
    d.cycles, d.attempts, d.first_failed_at, d.failed_at
from jobkit.dead_letters d where d.id = any ($1) order by d.id
