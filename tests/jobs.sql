-- The first jobs that have not ended, where they are and when they are due.
select coalesce(string_agg(format('job %s (%s, %s, attempt %s, due in %s s)', j.id, j.kind,
    case when exists (select from jobkit.ready r where r.job_id = j.id) then 'ready'
        when exists (select from jobkit.scheduled s where s.job_id = j.id) then 'scheduled'
        when exists (select from jobkit.blocked_executions b where b.job_id = j.id) then 'blocked'
        else 'claimed' end,
    j.attempt, round(extract(epoch from j.run_at - clock_timestamp()))), ', '), 'no jobs')
from (select * from jobkit.jobs j order by j.id limit 10) j
