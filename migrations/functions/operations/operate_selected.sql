-- operate_selected: a page of the dead letters that were selected one by one. Left out are those
-- that others have in hand, and those that are not what they have to be: open for a replay, not
-- replaying for a discard; or that failed again since.
create or replace function jobkit.operate_selected(p_operation jobkit.operations, p_rows integer)
returns boolean
language plpgsql as $$
declare
    v_page record;
    v_done bigint[];
    v_left bigint[];
    v_replay constant boolean := p_operation.verb = 'replay';
begin
    select * into v_page from jobkit.matching_ids(p_operation, p_rows);
    if v_page.last is null then
        return true;
    end if;
    v_done := array(
        select d.id from jobkit.dead_letters d
        where d.id = any (v_page.ids) and d.failed_at <= p_operation.until
            and (d.state = 'open' or d.state = 'resolved' and not v_replay)
        order by d.failed_at, d.id for update skip locked
    );
    if v_done <> '{}' and v_replay then
        perform from jobkit.replay_open(v_done);
    else
        delete from jobkit.dead_letters d where d.id = any (v_done);
    end if;
    v_left := array(select unnest(v_page.ids) except select unnest(v_done) order by 1);
    perform jobkit.operation_took(p_operation.id, cardinality(v_done), v_left, array(
        select case when d.id is null then 'there is none'
            when d.state = 'replaying' or d.state = 'resolved' and v_replay then d.state
            when d.failed_at > p_operation.until then 'failed again' else 'in other hands' end
        from unnest(v_left) as u (id) left join jobkit.dead_letters d on d.id = u.id order by u.id
    ));
    update jobkit.operations o set after_id = v_page.last where o.id = p_operation.id;
    return false;
end
$$;
