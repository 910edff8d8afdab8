-- job_violations: what is wrong with single jobs.
create or replace view jobkit.job_violations as
    select j.id as job_id, 'live job in no place' as what
    from jobkit.jobs j where not exists (select from jobkit.places p where p.job_id = j.id)
    union all
    select p.job_id, 'live job in ' || count(*) || ' places'
    from jobkit.places p group by p.job_id having count(*) > 1
    union all
    select p.job_id, 'row of an ended job in ' || p.place
    from jobkit.places p where not exists (select from jobkit.jobs j where j.id = p.job_id)
        -- A job that its handler completed (`complete`): the claim stands for the permit.
        and (p.place <> 'claimed' or not exists (
            select from jobkit.permits q where q.job_id = p.job_id
        ))
    union all
    select a.job_id, 'attempts of an ended job'
    from jobkit.attempts a where not exists (select from jobkit.jobs j where j.id = a.job_id)
    union all
    select e.job_id, case when count(*) = count(j.id) then 'ended and live' else 'ended twice' end
    from (
        select f.job_id from jobkit.finished f
        union all select d.job_id from jobkit.dead_letters d
    ) e
    left join jobkit.jobs j on j.id = e.job_id
    group by e.job_id having count(*) > 1 or count(j.id) > 0
    union all
    select d.replay_id, 'replays a dead letter and is gone'
    from jobkit.dead_letters d
    where d.state = 'replaying' and not exists (
        select from jobkit.jobs j where j.id = d.replay_id and j.dead_letter_id = d.id
            and j.generation = d.generation
    )
    union all
    select j.id, 'attempts beyond the limit' from jobkit.jobs j where j.attempt >= j.max_attempts
    union all
    select j.id, 'incomplete concurrency key or replay' from jobkit.jobs j
    where (j.concurrency_group is null) <> (j.concurrency_key is null)
        or (j.dead_letter_id is null) <> (j.generation is null)
    union all
    select j.id, 'a name, key, priority or limit out of range' from jobkit.jobs j
    where octet_length(j.kind) not between 1 and 128 or octet_length(j.queue) not between 1 and 128
        or octet_length(j.concurrency_group) not between 1 and 128
        or greatest(octet_length(j.concurrency_key), octet_length(j.dead_letter_key)) > 512
        or j.priority not between -3 and 3 or j.max_attempts < 1
    union all
    select j.id, 'unique key missing or incomplete' from jobkit.jobs j
    where (j.unique_key is null) <> (j.unique_scope is null)
        or (j.unique_key is null) <> (j.unique_while is null)
        or j.unique_while <> 'coalesce' and j.cancel_requested_at is null
            and (j.unique_while <> 'queued' or exists (
                select from jobkit.places p where p.job_id = j.id and p.place <> 'claimed'
            ))
            and not exists (
                select from jobkit.unique_keys u
                where u.scope = j.unique_scope and u.key = j.unique_key
                    and j.id in (u.job_id, u.follower_id)
            )
    union all
    select s.job_id, 'scheduled at another time'
    from jobkit.scheduled s join jobkit.jobs j on j.id = s.job_id where s.run_at <> j.run_at
    union all
    select s.job_id, 'retrying flag does not match the attempts'
    from jobkit.scheduled s join jobkit.jobs j on j.id = s.job_id
    where s.retrying <> (j.attempt > 0)
    union all
    select w.job_id, w.place || ' in another queue, priority, kind or key'
    from (
        select 'ready' as place, r.job_id, r.queue, r.priority, r.kind, r.concurrency_group,
            r.concurrency_key
        from jobkit.ready r
        union all
        select 'blocked', b.job_id, b.queue, b.priority, b.kind, b.concurrency_group,
            b.concurrency_key
        from jobkit.blocked_executions b
    ) w
    join jobkit.jobs j on j.id = w.job_id
    where (w.queue, w.priority, w.kind, w.concurrency_group, w.concurrency_key)
        is distinct from (j.queue, j.priority, jobkit.versioned(j.kind, j.version),
            j.concurrency_group, j.concurrency_key)
    union all
    select r.job_id, 'ready with a permit it does not hold'
    from jobkit.ready r
    where not r.without_permit and not exists (
        select from jobkit.permits p
        where p.job_id = r.job_id and p.concurrency_group = r.concurrency_group
            and p.concurrency_key = r.concurrency_key
    )
    union all
    select j.id, 'running without a permit'
    from jobkit.claims c
    join jobkit.jobs j on j.id = any (c.job_ids)
    where j.concurrency_key is not null and (not c.keyed or not exists (
        select from jobkit.permits p
        where p.job_id = j.id and p.concurrency_group = j.concurrency_group
            and p.concurrency_key = j.concurrency_key
    ))
    union all
    select p.job_id, 'permit of a job that is neither running nor ready with it'
    from jobkit.permits p
    where not exists (
            select from jobkit.ready r where r.job_id = p.job_id and not r.without_permit
        )
        and not exists (select from jobkit.claims c where p.job_id = any (c.job_ids));
