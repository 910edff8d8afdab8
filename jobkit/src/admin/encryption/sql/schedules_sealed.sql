-- sealed: the next schedules by name, each with its payload if anything in it is sealed.
-- $1 after this name, $2 kind, or null for all, $3 how many to look at
select s.name as id, s.kind, case when ($2::text is null or s.kind = $2)
    and strpos(s.args::text, '"jobkit:sealed"') > 0 then s.args::text end as args
from (select * from jobkit.schedules l where l.name > $1 order by l.name limit $3) s
order by s.name
