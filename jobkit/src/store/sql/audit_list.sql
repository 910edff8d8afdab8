-- A page of what operators did, the newest first.
-- $1 before this entry, null for the beginning; $2 how many at most
select a.id, a.at, a.actor, a.action, a.subject, a.subject_id, coalesce(a.detail, 'null') as detail
from jobkit.audit a
where a.id < coalesce($1, 9223372036854775807)
order by a.id desc limit $2
