-- operate_dead_letters: one page of dead letters. Leaves out those that are locked, that failed
-- again since, or that are not in the required state: that of the filter or, if they were selected
-- one by one, open for a replay and not replaying for a discard. Returns whether it was the last
-- page.
create or replace function jobkit.operate_dead_letters(
    p_operation jobkit.operations, p_rows integer
)
returns boolean
language plpgsql as $$
declare
    v_replay constant boolean := p_operation.verb = 'replay';
    v_state constant text := p_operation.filter ->> 'state';
    v_states constant text[] := case when v_state is not null then array[v_state]
        when v_replay then '{open}' else '{open,resolved}' end;
    v_page record;
    v_left bigint[];
begin
    if v_replay and v_state <> 'open' then
        return true;
    end if;
    select * into v_page from jobkit.operation_page(p_operation, p_rows);
    v_left := array(
        select unnest(v_page.ids) except select unnest(jobkit.take_dead_letters(
            p_operation.verb, v_page.ids, v_states, p_operation.until)) order by 1
    );
    perform jobkit.operation_took(p_operation.id,
        cardinality(v_page.ids) - cardinality(v_left), v_left, array(
            select case when d.id is null then 'does not exist'
                when d.state <> all (v_states) then d.state
                when d.failed_at > p_operation.until then 'failed again'
                when v_replay and d.unique_key is not null and k.job_id <> d.job_id
                    then 'its unique key is held by job ' || k.job_id
                else 'locked by another session' end
            from unnest(v_left) as u (id)
            left join jobkit.dead_letters d on d.id = u.id
            left join jobkit.unique_keys k on k.scope = d.unique_scope and k.key = d.unique_key
            order by u.id
        ));
    update jobkit.operations o set after_at = coalesce(v_page.last_at, o.after_at),
        after_id = coalesce(v_page.last_id, o.after_id)
    where o.id = p_operation.id;
    return v_page.last_id is null;
end
$$;
