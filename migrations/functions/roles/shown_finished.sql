-- shown_finished: ended jobs, as this role may see them.
create or replace view jobkit.shown_finished as
    select f.job_id, f.expires_at, f.outcome, f.kind, f.queue, f.tags, f.worker_id,
        f.concurrency_group, f.concurrency_key, f.reason, f.errors,
        jobkit.shown_args(f.args) as args,
        case when jobkit.shows_payloads() then f.metadata end as metadata,
        jobkit.shown_args(f.result) as result, f.batch_id
    from jobkit.finished f;
