-- cancel_mark: marks jobs so that, from its commit on, they can only end: retry, snooze, release
-- and reap end them as cancelled, and a claim hands them out only to be settled as cancelled. A
-- waiting job loses its unique key; one that runs, or may run, keeps it until it ends.
--   p_action, p_actor, p_detail  for the audit log: `cancel` or `discard`, who, and why
-- Returns the jobs it marked. A single job: waits for the session that has it locked. Several jobs:
-- tries for a fifth of a second and leaves out locked ones, since a producer may hold a job
-- (`replace`) as long as its transaction is open, and nobody may wait while holding others.
create or replace function jobkit.cancel_mark(
    p_jobs bigint[], p_action text default 'cancel', p_actor text default null,
    p_detail jsonb default null
) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_marked record;
    v_held bigint[];
    v_waiting bigint[];
begin
    for tries in 1..20 loop
        v_held := array(
            select j.id from jobkit.jobs j
            where j.id = any (p_jobs) and cardinality(p_jobs) > 1 for no key update skip locked
        );
        exit when cardinality(p_jobs) = 1 or not exists (
            select from jobkit.jobs j where j.id = any (p_jobs) and j.id <> all (v_held)
        );
        perform pg_sleep(0.01);
    end loop;
    with marked as (
        update jobkit.jobs j
        set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
        where j.id = any (case when cardinality(p_jobs) = 1 then p_jobs else v_held end)
        returning j.id, j.unique_scope, j.unique_key
    )
    select coalesce(array_agg(m.id order by m.id), '{}') as ids,
        array_agg(m.unique_scope order by m.id) as scopes,
        array_agg(m.unique_key order by m.id) as keys
    into v_marked from marked m;
    if array_remove(v_marked.keys, null) <> '{}' then
        v_waiting := jobkit.stay_waiting(v_marked.ids);
        perform jobkit.free_keys(
            array_agg(m.scope), array_agg(m.key), array_agg(m.id), false)
        from unnest(v_marked.scopes, v_marked.keys, v_marked.ids) as m (scope, key, id)
        where m.key is not null and m.id = any (v_waiting);
    end if;
    perform jobkit.recall(v_marked.ids);
    perform jobkit.note_jobs(p_actor, p_action, v_marked.ids, p_detail);
    return query select unnest(v_marked.ids);
end
$$;
