-- limits: semaphores with the limit that holds for each.
create or replace view jobkit.limits as
    select s.*, s.ctid as at,
        coalesce(s.override_limit, g.override_limit, g.default_limit, 1) as effective_limit
    from jobkit.semaphores s
    left join jobkit.concurrency_groups g on g.name = s.concurrency_group;
