-- discard: removes a page of the dead letters that a filter means, the oldest failure first.
-- Returns how many, how many others had in hand, and where the next page begins, null after the
-- last.
-- $1 state; null for any: $2 kind, $3 queue, $4 key, $5 fingerprint; $6 those that failed by this
-- time, $7 failed_at and $8 id after this place; $9 how many at most, $10 actor, $11 what it is
-- called in the audit
select d.discarded, d.skipped, d.last_at, d.last_id
from jobkit.discard_page($1, $2, $3, $4, $5, $6, coalesce($7::timestamptz, '-infinity'), $8, $9,
    $10, $11) d
