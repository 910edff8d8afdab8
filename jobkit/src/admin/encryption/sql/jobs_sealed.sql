-- sealed: the next live jobs by id, each with its payload if anything in it is sealed.
-- $1 after this id, $2 kind, or null for all, $3 how many to look at
select j.id::text as id, j.kind, case when ($2::text is null or j.kind = $2)
    and strpos(j.args::text, '"jobkit:sealed"') > 0 then j.args::text end as args
from (select * from jobkit.jobs l where l.id > $1 order by l.id limit $3) j
order by j.id
