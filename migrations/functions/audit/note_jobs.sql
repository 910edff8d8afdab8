-- note_jobs: adds an entry about jobs to the audit log, like `note`; none if there are no jobs.
create or replace function jobkit.note_jobs(
    p_actor text, p_action text, p_jobs bigint[], p_detail jsonb
) returns void
language sql as $$
    select jobkit.note(p_actor, p_action, case when one then 'job' else 'jobs' end,
        case when one then p_jobs[1] end, jsonb_strip_nulls(coalesce(p_detail, '{}')
            || case when one then '{}'
                else jsonb_build_object('count', cardinality(p_jobs), 'ids', p_jobs) end))
    from (select cardinality(p_jobs) = 1 as one) j where p_jobs <> '{}'
$$;
