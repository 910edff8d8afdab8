-- operation_stop: ends an open operation as cancelled or failed, after waiting for the page in
-- progress. What it has done is not undone. Returns whether it was open.
create or replace function jobkit.operation_stop(
    p_id bigint, p_state text, p_error text, p_actor text
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '4s'
as $$
begin
    perform jobkit.require_read_committed();
    perform from jobkit.operations o
    where o.id = p_id and o.ended_at is null for update;
    if not found then
        return false;
    end if;
    if p_state = 'cancelled' then
        perform jobkit.note(p_actor, 'cancel', 'operation', p_id, '{}');
    end if;
    perform jobkit.operation_end(p_id, p_state, p_error);
    return true;
end
$$;
