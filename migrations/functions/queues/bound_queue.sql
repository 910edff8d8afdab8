-- bound_queue: lets at most p_most jobs wait in this queue, whatever binaries announce. Null
-- removes the bound, including theirs until one of them starts again. Returns the bound before.
create or replace function jobkit.bound_queue(
    p_queue text, p_most integer, p_actor text default null
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_before integer;
begin
    perform jobkit.require_read_committed();
    perform jobkit.refuse(case
        when octet_length(p_queue) not between 1 and 128 then
            'the name of a queue has 1 to 128 bytes, not ' || octet_length(p_queue)
        when p_most not between 1 and 1000000 then
            'a bound is 1 to 1000000 jobs, not ' || p_most end);
    select coalesce(b.override, b.announced) into v_before
    from jobkit.bounds b where b.queue = p_queue for update;
    if p_most is null then
        delete from jobkit.bounds b where b.queue = p_queue;
    else
        insert into jobkit.bounds as b (queue, override) values (p_queue, p_most)
        on conflict (queue) do update set override = excluded.override;
        perform jobkit.look_at_bounds(p_queue);
    end if;
    if p_most is distinct from v_before then
        perform jobkit.note(p_actor, 'bound', 'queue', null,
            jsonb_build_object('before', v_before, 'after', p_most), p_queue);
    end if;
    return v_before;
end
$$;
