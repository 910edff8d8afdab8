-- sealed: the next dead letters by id, each with its payload if anything in it is sealed.
-- $1 after this id, $2 kind, or null for all, $3 how many to look at
select d.id::text as id, d.kind, case when ($2::text is null or d.kind = $2)
    and strpos(d.args::text, '"jobkit:sealed"') > 0 then d.args::text end as args
from (select * from jobkit.dead_letters l where l.id > $1 order by l.id limit $3) d
order by d.id
