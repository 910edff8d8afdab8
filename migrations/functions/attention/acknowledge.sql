-- acknowledge: records that an alarm needs no attention if it began at or before p_up_to. Of two
-- such times the later one wins, unless it is in the future (the clock stepped back). Removes
-- acknowledgements older than 30 days.
create or replace function jobkit.acknowledge(
    p_what text, p_subject text, p_up_to timestamptz, p_reason text, p_actor text default null
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    delete from jobkit.acknowledged o
    where (o.what, o.subject) in (
        select a.what, a.subject from jobkit.acknowledged a
        where a.at < clock_timestamp() - interval '30 d' limit 100 for update skip locked
    );
    insert into jobkit.acknowledged as a (what, subject, up_to, actor, reason)
    values (p_what, p_subject, least(p_up_to, clock_timestamp()), p_actor, p_reason)
    on conflict (what, subject) do update set up_to = case when a.up_to <= clock_timestamp()
            then greatest(a.up_to, excluded.up_to) else excluded.up_to end,
        actor = excluded.actor, reason = excluded.reason, at = clock_timestamp();
    perform jobkit.note(p_actor, 'acknowledge', 'attention', null,
        jsonb_strip_nulls(jsonb_build_object('subject', p_subject, 'reason', p_reason)), p_what);
end
$$;
