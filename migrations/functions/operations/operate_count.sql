-- The work of an operation: a page at a time, with the place of the next page in the same
-- transaction. The operation's row is locked before all others; only a session that stops it waits
-- for that lock. Pages are not recorded in the audit: the beginning was.

-- operate_count: counts what matches, if the look before the beginning did not see all of it, one
-- window in each step. After the last one, the work starts at the beginning.
create or replace function jobkit.operate_count(p_operation jobkit.operations) returns void
language plpgsql as $$
declare
    v_page record;
    v_counted bigint;
begin
    select * into v_page from jobkit.operation_page(p_operation, null);
    v_counted := p_operation.counted + cardinality(v_page.ids);
    if v_page.last_id is null then
        update jobkit.operations o set state = 'running', counted = v_counted, total = v_counted,
            after_at = b.at, after_id = b.id
        from jobkit.place_before(p_operation.filter) b where o.id = p_operation.id;
    else
        update jobkit.operations o set counted = v_counted, after_id = v_page.last_id,
            after_at = coalesce(v_page.last_at, o.after_at)
        where o.id = p_operation.id;
    end if;
end
$$;
