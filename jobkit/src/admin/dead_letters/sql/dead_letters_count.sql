-- How many dead letters a filter means, of the newest 10,000 of those that an index finds; and
-- whether there are more of these.
-- $1 state; null for any: $2 kind, $3 queue, $4 key, $5 fingerprint, $6 failed before this, $7
-- failed after this
select count(*) filter (
        where ($2::text is null or l.kind = $2) and ($3::text is null or l.queue = $3)
            and ($5::text is null or l.fingerprint = $5)
    ) as number,
    count(*) > 10000 as more
from jobkit.dead_letters_before($1, $4, $5, coalesce($6::timestamptz, 'infinity'),
    -9223372036854775808, coalesce($7::timestamptz, '-infinity'), 10001) l
