-- The indexes of our tables, and whether each can be used.
select c.relname::text as name, i.indisvalid and i.indisready as usable
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
where t.relnamespace = 'jobkit'::regnamespace and t.relname !~ '^finished_[0-9]{8}$'
order by 1 limit 1000
