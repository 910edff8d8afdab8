-- operate_past: leaves out the job or dead letter with which the next step of an operation fails,
-- and continues after it. Returns whether there is one.
create or replace function jobkit.operate_past(p_operation jobkit.operations, p_error text)
returns boolean
language plpgsql as $$
declare
    v_page record;
    v_subject bigint := p_operation.batch[1];
begin
    if v_subject is not null then
        update jobkit.operations o set batch = o.batch[2 :] where o.id = p_operation.id;
    else
        select * into v_page from jobkit.operation_page(p_operation, 1);
        v_subject := v_page.ids[1];
        update jobkit.operations o set after_at = coalesce(v_page.last_at, o.after_at),
            after_id = coalesce(v_page.last_id, o.after_id)
        where o.id = p_operation.id;
    end if;
    if v_subject is null then
        return false;
    end if;
    perform jobkit.operation_took(p_operation.id, 0, array[v_subject],
        array['failed: ' || left(p_error, 500)]);
    return true;
end
$$;
