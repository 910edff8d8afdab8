-- without_clash: the dead letters that can be replayed, of those that the caller has locked:
-- without a unique key, or with a free one, which they get here. Leaves out those whose key another
-- session is taking at the moment.
create or replace function jobkit.without_clash(p_ids bigint[]) returns bigint[]
language plpgsql as $$
declare
    v_entry record;
    v_ids bigint[] := p_ids;
begin
    for v_entry in
        select d.* from jobkit.dead_letters d where d.id = any (p_ids) and d.unique_key is not null
        order by d.unique_scope, d.unique_key, d.id
    loop
        begin
            if exists (
                select from jobkit.dead_letters d
                where d.id = any (v_ids) and d.id < v_entry.id
                    and d.unique_scope = v_entry.unique_scope and d.unique_key = v_entry.unique_key
            ) then
                v_ids := array_remove(v_ids, v_entry.id);
            elsif jobkit.retake_key(v_entry.unique_scope, v_entry.unique_key, v_entry.job_id)
                is not null
            then
                v_ids := array_remove(v_ids, v_entry.id);
            end if;
        exception when lock_not_available then
            v_ids := array_remove(v_ids, v_entry.id);
        end;
    end loop;
    return v_ids;
end
$$;
