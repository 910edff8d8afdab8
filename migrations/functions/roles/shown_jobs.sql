-- shown_jobs: live jobs, as this role may see them, for operators' lists.
create or replace view jobkit.shown_jobs as
    select j.id, j.kind, j.queue, j.tags, j.concurrency_group, j.concurrency_key,
        jobkit.shown_args(j.args) as args,
        case when jobkit.shows_payloads() then j.metadata end as metadata, j.batch_id
    from jobkit.jobs j;
