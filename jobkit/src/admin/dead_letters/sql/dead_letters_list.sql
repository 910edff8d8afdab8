-- A page of the dead letters that match a filter (`matching_dead_letters`), the newest failure
-- first, each row with the place after which the next page begins, null after the last. If none
-- matches, there is one row without a dead letter.
-- $1 filter; $2 failed_at and $3 id of the place before it, null for the beginning; $4 failed after
-- this, null for any; $5 how many at most
select m.next_at, m.next_id, d.id, d.state, d.kind, d.queue, d.key, d.reason,
    left(d.error, 300) as error, d.fingerprint, d.cycles, d.attempts, d.first_failed_at, d.failed_at
from jobkit.matching_dead_letters($1, true, coalesce($4::timestamptz, '-infinity'),
    9223372036854775807, coalesce($2::timestamptz, 'infinity'), coalesce($3, 9223372036854775807),
    10000, $5) m
left join jobkit.dead_letters d on d.id = m.id
order by m.nth
