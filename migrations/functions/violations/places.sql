-- What no committed state may contain: the promises of storage, as queries. Tests read them at
-- every commit; operators may read them at any time. They read whole tables: not for use in a loop.

-- places: where the live jobs are.
create or replace view jobkit.places as
    select 'ready' as place, r.job_id from jobkit.ready r
    union all select 'scheduled', s.job_id from jobkit.scheduled s
    union all select 'blocked', b.job_id from jobkit.blocked_executions b
    union all select 'claimed', unnest(c.job_ids) from jobkit.claims c;
