-- A page of the dead letters that a filter means, the newest failure first: of the next 10,000
-- those that fit, each row with the place after which the next page begins, null after the last.
-- When none fits there is one row without a dead letter.
-- $1 state; null for any: $2 kind, $3 queue, $4 key, $5 fingerprint; $6 failed_at and $7 id of the
-- place before it, null for the beginning; $8 failed after this, null for any; $9 how many at most
with page as materialized (
    select l.id, l.failed_at
    from jobkit.dead_letters_before($1, $4, $5, coalesce($6::timestamptz, 'infinity'),
        coalesce($7, 9223372036854775807), coalesce($8::timestamptz, '-infinity'), 10000) l
    where ($2::text is null or l.kind = $2) and ($3::text is null or l.queue = $3)
        and ($5::text is null or l.fingerprint = $5)
    order by l.failed_at desc, l.id desc limit $9
), place as (
    select e.failed_at, e.id
    from (select count(*) = $9 as full from page) f
    left join lateral (
        (
            select p.failed_at, p.id from page p where f.full
            order by p.failed_at, p.id limit 1
        )
        union all
        (
            select l.failed_at, l.id
            from jobkit.dead_letters_before($1, $4, $5, coalesce($6::timestamptz, 'infinity'),
                coalesce($7, 9223372036854775807), coalesce($8::timestamptz, '-infinity'), 10000) l
            where not f.full order by l.failed_at desc, l.id desc offset 9999
        )
    ) e on true
)
select n.failed_at as next_at, n.id as next_id, d.id, d.state, d.kind, d.queue, d.key, d.reason,
    left(d.error, 300) as error, d.fingerprint, d.cycles, d.attempts, d.first_failed_at, d.failed_at
from place n
left join page p on true
left join jobkit.dead_letters d on d.id = p.id
order by p.failed_at desc, p.id desc
