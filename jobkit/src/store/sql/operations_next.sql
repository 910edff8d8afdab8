-- The oldest operation that is open.
select o.id from jobkit.operations o
where o.state in ('pending', 'running') order by o.id limit 1
