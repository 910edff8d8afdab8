-- note_ended: adds the result of an operation to the entry of its beginning, once. Runs as the
-- owner: no other role changes the audit log.
create or replace function jobkit.note_ended(p_operation bigint) returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
    update jobkit.audit a set detail = a.detail || jsonb_strip_nulls(jsonb_build_object(
        'state', o.state, 'total', o.total, 'done', o.done, 'asked', o.asked,
        'skipped', o.skipped, 'error', o.error))
    from jobkit.operations o
    where o.id = p_operation and o.ended_at is not null and a.id = o.audit_id
        and (a.subject, a.subject_id, a.action) = ('operation', o.id, 'begin')
        and not a.detail ? 'state'
$$;
revoke all on function jobkit.note_ended from public;
