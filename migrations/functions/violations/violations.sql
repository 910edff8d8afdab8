-- violations: everything that no committed state may contain, of jobs, keys and batches.
create or replace view jobkit.violations as
    select v.what, v.job_id::text as who from jobkit.job_violations v
    union all
    select v.what, v.concurrency_group || ' ' || v.concurrency_key from jobkit.key_violations v
    union all
    select v.what, 'batch ' || v.batch_id from jobkit.batch_violations v;
