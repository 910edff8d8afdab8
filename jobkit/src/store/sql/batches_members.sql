-- Members of a batch that have ended and are still kept, in the order of their ids: from the
-- history, or as dead letters.
-- $1 the batch, $2 after this job, $3 how many at most
select m.job_id, m.outcome, m.reason, m.result
from (
    (
        select f.job_id, f.outcome, f.reason, f.result::text as result from jobkit.finished f
        where f.batch_id = $1 and f.job_id > $2 order by f.job_id limit $3
    ) union all (
        select d.job_id, case d.state when 'resolved' then 'finish' else 'dead' end,
            case d.state when 'resolved' then 'job ' || d.replay_id || ' replayed it'
                else d.error end, null
        from jobkit.dead_letters d
        where d.batch_id = $1 and d.job_id > $2 order by d.job_id limit $3
    )
) m
order by m.job_id limit $3
