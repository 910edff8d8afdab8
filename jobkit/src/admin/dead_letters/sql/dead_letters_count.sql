-- How many of the newest 10,001 dead letters that an index finds match a filter; and whether there
-- are that many.
-- $1 filter, $2 failed before this, $3 failed after this, null for any
select count(m.id), bool_or(m.next_id is not null)
from jobkit.matching_dead_letters($1, true, coalesce($3::timestamptz, '-infinity'),
    9223372036854775807, coalesce($2::timestamptz, 'infinity'), -9223372036854775808, 10001,
    null) m
