-- discard: removes a page of the dead letters that a filter means, the oldest failure first.
-- Returns how many, how many others had in hand, and where the next page begins, null after the
-- last.
-- null for any: $1 kind, $2 queue, $3 key, $4 fingerprint; $5 those that failed by this time,
-- $6 failed_at and $7 id after this place; $8 how many at most, $9 actor; $10 state, $11 what it
-- is called in the audit
select d.discarded, d.skipped, d.last_at, d.last_id
from jobkit.discard_page($10, $1, $2, $3, $4, $5, coalesce($6::timestamptz, '-infinity'), $7, $8,
    $9, $11) d
