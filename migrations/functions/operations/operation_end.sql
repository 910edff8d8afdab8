-- operation_end: ends an operation as done, cancelled or failed, and adds the result to the audit
-- entry of its beginning. The caller holds its row.
create or replace function jobkit.operation_end(p_id bigint, p_state text, p_error text)
returns void
language sql as $$
    update jobkit.operations o set state = p_state, error = p_error, batch = '{}',
        ended_at = clock_timestamp()
    where o.id = p_id;
    select jobkit.note_ended(p_id)
$$;
