-- The oldest operation that is open.
select o.id from jobkit.operations o
where o.ended_at is null order by o.id limit 1
