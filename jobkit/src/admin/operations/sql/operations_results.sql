-- What did not go as asked, in the order of ids; 1,000 are kept.
-- $1 operation
select r.subject_id, r.outcome from jobkit.operation_results r
where r.operation_id = $1 order by r.subject_id limit 1000
