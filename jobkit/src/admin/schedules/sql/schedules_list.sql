-- Schedules by name, with their last job and what was missed lately. Looks at no more than the
-- latest 200 runs of each.
-- $1 after this name, $2 how many, $3 only this one (null: all)
select s.name, s.times, s.kind, s.queue, s.next_at, s.catch_up, s.catch_up_max, s.catch_up_window,
    s.overlap, s.jitter, s.declared_at, s.edited, s.paused_at, s.paused_by, s.pause_reason,
    case when s.next_at < now() and s.paused_at is null then now() - s.next_at end as overdue,
    l.last_instant, l.last_job, l.missed, l.paused
from jobkit.schedules s
cross join lateral (
    select max(r.instant) filter (where r.job_id is not null) as last_instant,
        (array_agg(r.job_id order by r.instant desc) filter (where r.job_id is not null))[1]
            as last_job,
        count(*) filter (where r.skipped = 'missed' and r.instant > now() - interval '1 d')
            as missed,
        count(*) filter (where r.skipped = 'paused' and r.instant > now() - interval '1 d')
            as paused
    from (
        select i.instant, i.job_id, i.skipped from jobkit.schedule_runs i
        where i.schedule = s.name order by i.instant desc limit 200
    ) r
) l
where s.removed_at is null and s.name > $1 and ($3::text is null or s.name = $3)
order by s.name limit $2
