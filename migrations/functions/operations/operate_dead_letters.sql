-- operate_dead_letters: a page of dead letters. Left out are those that others have in hand.
create or replace function jobkit.operate_dead_letters(
    p_operation jobkit.operations, p_rows integer
)
returns boolean
language plpgsql as $$
declare
    v_filter constant jsonb := p_operation.filter;
    v_state constant text := p_operation.filter ->> 'state';
    v_done record;
    v_left bigint[];
begin
    if p_operation.verb = 'replay' and v_state <> 'open' then
        return true;
    elsif p_operation.verb = 'replay' then
        select r.replayed as n, r.skipped, r.last_at, r.last_id, r.ids into v_done
        from jobkit.replay_page(v_filter ->> 'kind', v_filter ->> 'queue', v_filter ->> 'key',
            v_filter ->> 'fingerprint', p_operation.until, p_operation.after_at,
            p_operation.after_id, p_rows, p_operation.actor, null) r;
    else
        select r.discarded as n, r.skipped, r.last_at, r.last_id, r.ids into v_done
        from jobkit.discard_page(v_state, v_filter ->> 'kind', v_filter ->> 'queue',
            v_filter ->> 'key', v_filter ->> 'fingerprint', p_operation.until,
            p_operation.after_at, p_operation.after_id, p_rows, p_operation.actor, null) r;
    end if;
    v_left := array(
        select d.id from jobkit.dead_letters d
        where d.id = any (v_done.ids) and d.state = v_state and d.failed_at <= p_operation.until
        order by d.id
    );
    perform jobkit.operation_took(p_operation.id, v_done.n, v_left,
        array_fill('in other hands'::text, array[cardinality(v_left)]));
    update jobkit.operations o set after_at = coalesce(v_done.last_at, o.after_at),
        after_id = coalesce(v_done.last_id, o.after_id)
    where o.id = p_operation.id;
    return v_done.last_at is null;
end
$$;
