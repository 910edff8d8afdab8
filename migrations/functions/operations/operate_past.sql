-- operate_past: leaves out the job or dead letter with which the next step of an operation fails by
-- itself, and goes on behind it. Whether there is one.
create or replace function jobkit.operate_past(p_operation jobkit.operations, p_error text)
returns boolean
language plpgsql as $$
declare
    v_filter constant jsonb := p_operation.filter;
    v_page record;
    v_subject bigint;
begin
    if p_operation.batch <> '{}' then
        v_subject := p_operation.batch[1];
        update jobkit.operations o set batch = o.batch[2 :] where o.id = p_operation.id;
    elsif p_operation.verb in ('cancel', 'discard', 'reschedule') then
        select * into v_page from jobkit.jobs_to_do(p_operation, 1);
        v_subject := v_page.jobs[1];
        update jobkit.operations o set after_id = coalesce(v_page.last, o.up_to)
        where o.id = p_operation.id;
    elsif v_filter ? 'ids' then
        select * into v_page from jobkit.matching_ids(p_operation, 1);
        v_subject := v_page.last;
        update jobkit.operations o set after_id = v_page.last where o.id = p_operation.id;
    else
        select * into v_page from jobkit.dead_letters_page(v_filter ->> 'state',
            v_filter ->> 'kind', v_filter ->> 'queue', v_filter ->> 'key',
            v_filter ->> 'fingerprint', p_operation.until, p_operation.after_at,
            p_operation.after_id, 1);
        v_subject := v_page.ids[1];
        update jobkit.operations o set after_at = v_page.last_at, after_id = v_page.last_id
        where o.id = p_operation.id and v_page.last_at is not null;
    end if;
    if v_subject is null then
        return false;
    end if;
    perform jobkit.operation_took(p_operation.id, 0, array[v_subject],
        array['failed: ' || left(p_error, 500)]);
    return true;
end
$$;
