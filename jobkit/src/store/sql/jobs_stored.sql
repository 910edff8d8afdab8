-- The live jobs of these kinds in any state, as an application's test sees them.
-- $1 kinds
select j.id, j.kind, coalesce(j.version, 1) as version, j.queue, j.priority, j.attempt,
    j.max_attempts, j.run_at, j.created_at,
    case when j.run_at > clock_timestamp() and j.run_at < 'infinity'
        then j.run_at - clock_timestamp() end as due_in,
    j.concurrency_key, j.dead_letter_key, j.unique_key, j.args::text as args,
    coalesce(j.tags, '{}') as tags, j.metadata,
    jobkit.seconds(j.terms -> 'expires') as expires,
    jobkit.seconds(j.terms -> 'retry_for') as retry_for,
    case when exists (select from jobkit.ready r where r.job_id = j.id) then 'ready'
        when exists (select from jobkit.scheduled s where s.job_id = j.id) then 'scheduled'
        when exists (select from jobkit.blocked_executions b where b.job_id = j.id) then 'blocked'
        else 'running' end as state
from jobkit.jobs j where j.kind = any ($1) order by j.id
