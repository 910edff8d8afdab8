-- A page of what operators did, the newest first; a payload apart, with what its kind redacts.
-- $1 before this entry, null for the beginning; $2 how many at most
select a.id, a.at, a.actor, a.action, a.subject, a.subject_id,
    coalesce(a.detail - 'args', 'null') as detail, (a.detail -> 'args')::text as args, k.redact
from jobkit.audit a
left join jobkit.dead_letters d on a.subject = 'dead_letter' and d.id = a.subject_id
left join jobkit.kinds k on k.kind = coalesce(a.detail ->> 'kind', d.kind)
where a.id < coalesce($1, 9223372036854775807)
order by a.id desc limit $2
