-- cancel_mark: from the commit of this mark on, nothing but an end awaits these jobs: retry,
-- snooze, release and reap end them as cancelled, and a claim hands them out only to be settled so.
-- Returns those that are live, which have no unique key any more. In the order of their ids, or two
-- callers could deadlock.
--   p_action, p_actor, p_detail  for the audit: `cancel` or `discard`, who, and why
create or replace function jobkit.cancel_mark(
    p_jobs bigint[], p_action text default 'cancel', p_actor text default null,
    p_detail jsonb default null
) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_marked bigint[];
begin
    perform from jobkit.jobs j where j.id = any (p_jobs) order by j.id for no key update;
    with marked as (
        update jobkit.jobs j
        set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
        where j.id = any (p_jobs) returning j.id
    )
    select coalesce(array_agg(m.id order by m.id), '{}') into v_marked from marked m;
    perform jobkit.free_keys(v_marked, false);
    perform jobkit.recall(v_marked);
    perform jobkit.note_jobs(p_actor, p_action, v_marked, p_detail);
    return query select unnest(v_marked);
end
$$;
