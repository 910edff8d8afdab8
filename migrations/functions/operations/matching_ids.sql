-- matching_ids: the jobs or dead letters that were selected one by one, in the order of their ids,
-- p_rows at most, and the last of them, null when none is left.
create or replace function jobkit.matching_ids(
    p_operation jobkit.operations, p_rows integer, out ids bigint[], out last bigint
)
language sql stable as $$
    with page as materialized (
        select distinct i.id::bigint as id
        from jsonb_array_elements_text(p_operation.filter -> 'ids') as i (id)
        where i.id::bigint > p_operation.after_id order by 1 limit p_rows
    )
    select array(select p.id from page p order by p.id), (select max(p.id) from page p)
$$;
