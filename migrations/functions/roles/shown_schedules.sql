-- shown_schedules: schedules and what they enqueue, as this role may see it.
create or replace view jobkit.shown_schedules as
    select s.name, jobkit.shown_args(s.args) as args,
        case when jobkit.shows_payloads() then s.metadata end as metadata
    from jobkit.schedules s;
