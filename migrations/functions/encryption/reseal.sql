-- reseal: replaces payloads by others that differ only in their encryption key, if they are
-- unchanged and not locked. Returns how many; the next run finds the others.
--   p_place  job, dead_letter or schedule
--   p_ids    the id, or the name, for each payload in p_before
-- Waits for nobody. A job that runs has its payload already.
create or replace function jobkit.reseal(
    p_place text, p_ids text[], p_before text[], p_after text[], p_key text, p_actor text
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_mine text[];
    v_count integer;
begin
    perform jobkit.require_read_committed();
    if p_place = 'job' then
        v_mine := array(select l.id::text from (
            select j.id from jobkit.jobs j where j.id = any (p_ids::bigint[])
            order by j.id for update skip locked
        ) l);
        update jobkit.jobs j set args = n.after::json
        from unnest(p_ids, p_before, p_after) as n (id, before, after)
        where j.id = n.id::bigint and n.id = any (v_mine) and j.args::text = n.before;
    elsif p_place = 'dead_letter' then
        v_mine := array(select l.id::text from (
            select d.id from jobkit.dead_letters d where d.id = any (p_ids::bigint[])
            order by d.kind, d.key, d.id for update skip locked
        ) l);
        update jobkit.dead_letters d set args = n.after::json
        from unnest(p_ids, p_before, p_after) as n (id, before, after)
        where d.id = n.id::bigint and n.id = any (v_mine) and d.args::text = n.before;
    else
        v_mine := array(select l.name from (
            select s.name from jobkit.schedules s where s.name = any (p_ids)
            order by s.name for update skip locked
        ) l);
        update jobkit.schedules s set args = n.after::json
        from unnest(p_ids, p_before, p_after) as n (id, before, after)
        where s.name = n.id and n.id = any (v_mine) and s.args::text = n.before;
    end if;
    get diagnostics v_count = row_count;
    perform jobkit.note(p_actor, 'reseal', 'payloads', null,
        jsonb_build_object('what', p_place, 'count', v_count, 'key', p_key))
    where v_count > 0;
    return v_count;
end
$$;
