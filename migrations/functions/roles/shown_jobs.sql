-- shown_jobs: live jobs, as this role may see them, for operators' lists.
create or replace view jobkit.shown_jobs as
    select j.id, j.kind, j.queue, j.tags, j.concurrency_group, j.concurrency_key,
        jobkit.shown_args(j.args) as args, jobkit.shown_metadata(j.metadata) as metadata
    from jobkit.jobs j;
