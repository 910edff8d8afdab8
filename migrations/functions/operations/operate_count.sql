-- The work of an operation: a page at a time, with the place of the next in the same transaction.
-- The lock of the operation's row comes before all others; nobody waits for it but who stops it.
-- No page is noted in the audit: the beginning was.

-- operate_count: counts what is meant, if the look before the beginning did not see all of it. A
-- window in each step; behind the last one the work begins at the beginning.
create or replace function jobkit.operate_count(p_operation jobkit.operations) returns void
language plpgsql as $$
declare
    v_filter constant jsonb := p_operation.filter;
    v_window record;
    v_counted bigint := p_operation.counted;
begin
    if p_operation.verb in ('cancel', 'discard', 'reschedule') then
        select m.jobs as ids, p_operation.after_at as last_at, m.last as last_id into v_window
        from jobkit.matching_jobs(v_filter, p_operation.after_id, p_operation.up_to, 2000) m;
    else
        select * into v_window from jobkit.dead_letters_page(v_filter ->> 'state',
            v_filter ->> 'kind', v_filter ->> 'queue', v_filter ->> 'key',
            v_filter ->> 'fingerprint', p_operation.until, p_operation.after_at,
            p_operation.after_id, 10000);
    end if;
    v_counted := v_counted + cardinality(v_window.ids);
    if v_window.last_id is null then
        update jobkit.operations o set state = 'running', counted = v_counted, total = v_counted,
            after_at = b.at, after_id = b.id
        from jobkit.place_before(v_filter) b where o.id = p_operation.id;
    else
        update jobkit.operations o set counted = v_counted, after_at = v_window.last_at,
            after_id = v_window.last_id
        where o.id = p_operation.id;
    end if;
end
$$;
