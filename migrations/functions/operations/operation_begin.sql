-- operation_begin: creates an operation, or finds the one with this key. Removes operations that
-- ended 90 days ago.
--   p_number, p_more  how many matches were found so far, and whether there may be more
create or replace function jobkit.operation_begin(
    p_verb text, p_filter jsonb, p_reason text, p_run_at timestamptz, p_number bigint,
    p_more boolean, p_until timestamptz, p_key text, p_actor text,
    p_per_second integer default null, out operation bigint, out begun boolean
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    perform jobkit.require_time(p_run_at);
    delete from jobkit.operations o where o.id = any (array(
        select d.id from jobkit.operations d
        where d.ended_at < clock_timestamp() - interval '90 days'
        order by d.id limit 100 for update skip locked
    ));
    insert into jobkit.operations (verb, filter, reason, run_at, total, counted, up_to, until,
        after_id, after_at, idempotency_key, actor, per_second)
    select p_verb, p_filter, p_reason, p_run_at, case when not p_more then p_number end,
        case when p_more then 0 else p_number end,
        coalesce((select max(j.id) from jobkit.jobs j), 0), p_until, b.id, b.at, p_key,
        p_actor, p_per_second
    from jobkit.place_before(p_filter) b
    on conflict (idempotency_key) do nothing
    returning id into operation;
    begun := found;
    if begun then
        update jobkit.operations o
        set audit_id = jobkit.note(p_actor, 'begin', 'operation', operation, jsonb_strip_nulls(
            jsonb_build_object('verb', p_verb, 'filter', p_filter, 'reason', p_reason,
                'per_second', p_per_second,
                case when p_more then 'more_than' else 'total' end, p_number)))
        where o.id = operation;
    else
        select o.id into operation from jobkit.operations o where o.idempotency_key = p_key;
    end if;
end
$$;
