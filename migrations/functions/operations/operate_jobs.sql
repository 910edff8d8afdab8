-- operate_jobs: one page of jobs, in two steps, each in its own transaction. The first records the
-- jobs, reports those that have ended or that a producer is changing, and marks those to be
-- cancelled: from its commit on they can only end. The second takes them from where they wait. Jobs
-- that a claim has locked are tried three times in all, unless p_rows splits the page into parts.
create or replace function jobkit.operate_jobs(p_operation jobkit.operations, p_rows integer)
returns boolean
language plpgsql as $$
declare
    v_page record;
    v_batch bigint[] := p_operation.batch[1 : p_rows];
    v_rest constant bigint[] := p_operation.batch[p_rows + 1 :];
    v_left bigint[];
    v_again bigint[];
    v_asked integer := 0;
    v_ended constant boolean := p_operation.verb <> 'reschedule';
begin
    if p_operation.batch = '{}' then
        select * into v_page from jobkit.operation_page(p_operation, p_rows);
        v_batch := case when v_ended then array(select jobkit.cancel_mark(v_page.ids, null))
            else array(select j.id from jobkit.jobs j where j.id = any (v_page.ids) order by 1) end;
        v_left := array(select unnest(v_page.ids) except select unnest(v_batch) order by 1);
        perform jobkit.operation_took(p_operation.id, 0, v_left, array(
            select case when j.id is null then 'already ended' else 'locked by another session' end
            from unnest(v_left) as u (id) left join jobkit.jobs j on j.id = u.id order by u.id
        ));
        update jobkit.operations o set batch = v_batch, tries = 0,
            after_id = coalesce(v_page.last_id, o.up_to)
        where o.id = p_operation.id;
        return v_batch = '{}' and v_page.last_id is null;
    end if;
    if v_ended then
        v_left := array(select jobkit.cancel_take(v_batch, p_operation.verb,
            coalesce(p_operation.reason, case when p_operation.verb = 'discard' then 'discarded'
                else 'cancelled' end)));
    else
        v_left := array(select jobkit.reschedule(v_batch, p_operation.run_at, p_action => null));
    end if;
    v_left := array(select unnest(v_batch) except select unnest(v_left) order by 1);
    v_again := case when p_operation.tries < 2 and v_rest = '{}' then array(
        select l.id from jobkit.listed_jobs l
        where l.id = any (v_left) and l.state <> 'running' and (v_ended or not l.cancel_requested)
    ) else '{}' end;
    v_left := array(select unnest(v_left) except select unnest(v_again) order by 1);
    if v_ended then
        -- They run and are marked: asking them to stop is all that was requested.
        v_asked := cardinality(v_left);
        v_left := '{}';
    end if;
    perform jobkit.operation_took(p_operation.id,
        cardinality(v_batch) - cardinality(v_left) - cardinality(v_again), v_left,
        array(
            select case when l.id is null then 'already ended'
                when l.cancel_requested then 'marked as cancelled' else l.state end
            from unnest(v_left) as u (id) left join jobkit.listed_jobs l on l.id = u.id
            order by u.id
        ));
    update jobkit.operations o set batch = v_rest || v_again, asked = o.asked + v_asked,
        tries = o.tries + (v_rest = '{}')::integer
    where o.id = p_operation.id;
    return false;
end
$$;
