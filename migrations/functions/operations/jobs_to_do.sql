-- jobs_to_do: the jobs of a page, and the job after which the next begins, null after the last. Of
-- selected ones those that have ended are told of here.
create or replace function jobkit.jobs_to_do(
    p_operation jobkit.operations, p_rows integer, out jobs bigint[], out last bigint
)
language plpgsql as $$
declare
    v_gone bigint[];
begin
    if not p_operation.filter ? 'ids' then
        select m.jobs, m.last into jobs, last from jobkit.matching_jobs(p_operation.filter,
            p_operation.after_id, p_operation.up_to, p_rows) m;
        return;
    end if;
    select i.ids, i.last into jobs, last from jobkit.matching_ids(p_operation, p_rows) i;
    v_gone := array(
        select unnest(jobs) except select j.id from jobkit.jobs j where j.id = any (jobs)
    );
    perform jobkit.operation_took(p_operation.id, 0, v_gone,
        array_fill('ended by itself'::text, array[cardinality(v_gone)]));
    jobs := array(select unnest(jobs) except select unnest(v_gone) order by 1);
end
$$;
