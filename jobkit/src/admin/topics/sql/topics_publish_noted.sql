-- Publishes through the function for other languages, and notes who did it. Returns the jobs.
-- $1 actor, $2 topic, $3 payload, $4 version, $5 terms
with job as materialized (
    select array(select j.id from jobkit.publish($2, $3, $4, null, $5) as j (id)) as ids
)
select j.ids, jobkit.note($1, 'publish', 'topic', null,
    jsonb_build_object('jobs', cardinality(j.ids)), $2)
from job j
