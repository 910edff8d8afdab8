-- operation_page: the next jobs or dead letters of an operation after its place: those that it
-- names one by one, all members of a batch, or those that its filter matches; jobs in the order of
-- ids, dead letters in the order in which they failed. Returns also the place of the next page,
-- null after the last.
--   p_rows  how many at most; null: as many as are looked at
create or replace function jobkit.operation_page(
    p_operation jobkit.operations, p_rows integer,
    out ids bigint[], out last_at timestamptz, out last_id bigint
)
language plpgsql as $$
begin
    if p_operation.filter ? 'ids' then
        select array_agg(i.id), max(i.id) into ids, last_id
        from (
            select distinct i.id::bigint as id
            from jsonb_array_elements_text(p_operation.filter -> 'ids') as i (id)
            where i.id::bigint > p_operation.after_id order by 1 limit p_rows
        ) i;
    elsif p_operation.filter ? 'batch' and not p_operation.filter ? 'listing' then
        select array_agg(i.id), max(i.id) into ids, last_id
        from (
            select j.id from jobkit.jobs j
            where j.batch_id = (p_operation.filter ->> 'batch')::bigint
                and j.id > p_operation.after_id and j.id <= p_operation.up_to
            order by j.id limit p_rows
        ) i;
    elsif p_operation.verb in ('cancel', 'discard', 'reschedule') then
        select array_agg(m.id order by m.nth) filter (where m.id is not null),
            max(m.next ->> 0)::bigint
        into ids, last_id
        from jobkit.matching_jobs(p_operation.filter, 'all',
            jsonb_build_array(p_operation.after_id, p_operation.up_to), 2000, p_rows) m;
    else
        select array_agg(m.id order by m.nth) filter (where m.id is not null), max(m.next_at),
            max(m.next_id)
        into ids, last_at, last_id
        from jobkit.matching_dead_letters(p_operation.filter, false, p_operation.after_at,
            p_operation.after_id, p_operation.until, 9223372036854775807, 10000,
            p_rows) m;
    end if;
    ids := coalesce(ids, '{}');
end
$$;
