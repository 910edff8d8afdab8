-- shown_dead_letters: dead letters, as this role may see them.
create or replace view jobkit.shown_dead_letters as
    select d.id, jobkit.shown_args(d.args) as args,
        case when jobkit.shows_payloads() then d.metadata end as metadata
    from jobkit.dead_letters d;
