-- A page of the audit log, the newest entry first: those of the next 10,000 entries that match, and
-- the entry after which the next page begins, null after the last. A payload has its own column,
-- beside what its kind redacts.
-- $1 before this entry, null for the beginning; $2 how many at most; null for any: $3 actor,
-- $4 action, $5 subject, $6 its id, $7 its name
with looked_at as materialized (
    select a.id, a.actor, a.action, a.subject, a.subject_id, a.subject_name
    from jobkit.audit a where a.id < coalesce($1::bigint, 9223372036854775807)
    order by a.id desc limit 10000
), page as materialized (
    select l.id from looked_at l
    where ($3::text is null or l.actor = $3) and ($4::text is null or l.action = $4)
        and ($5::text is null or l.subject = $5) and ($6::bigint is null or l.subject_id = $6)
        and ($7::text is null or l.subject_name = $7)
    order by l.id desc limit $2
)
select n.next, a.id, a.at, a.actor, a.action, a.subject, a.subject_id, a.subject_name,
    coalesce(a.detail - 'args', 'null') as detail, (a.detail -> 'args')::text as args, k.redact
from (
    select case when (select count(*) from page) = $2 then (select min(p.id) from page p)
        when (select count(*) from looked_at) = 10000 then (select min(l.id) from looked_at l)
    end as next
) n
left join (page p join jobkit.shown_audit a on a.id = p.id) on true
left join jobkit.dead_letters d on a.subject = 'dead_letter' and d.id = a.subject_id
left join jobkit.kinds k on k.kind = coalesce(a.detail ->> 'kind', d.kind)
order by a.id desc
