-- operation_end: an operation ends: as done, cancelled or failed. What came of it is filled in
-- where its beginning was noted. The caller holds its row.
create or replace function jobkit.operation_end(p_id bigint, p_state text, p_error text)
returns void
language sql as $$
    with ended as (
        update jobkit.operations o set state = p_state, error = p_error, batch = '{}',
            ended_at = clock_timestamp()
        where o.id = p_id returning *
    )
    update jobkit.audit a set detail = a.detail || jsonb_strip_nulls(jsonb_build_object(
        'state', e.state, 'total', e.total, 'done', e.done, 'asked', e.asked,
        'skipped', e.skipped, 'error', e.error))
    from ended e where a.id = e.audit_id
$$;
