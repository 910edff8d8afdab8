-- mute_cause: keeps dead letters of this cause from needing attention for this long; null unmutes
-- it. Returns until when it is muted.
create or replace function jobkit.mute_cause(
    p_fingerprint text, p_for interval, p_actor text default null
) returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_until constant timestamptz := clock_timestamp() + p_for;
begin
    perform jobkit.require_read_committed();
    insert into jobkit.causes as c (fingerprint, muted_until) values (p_fingerprint, v_until)
    on conflict (fingerprint) do update set muted_until = excluded.muted_until;
    perform jobkit.note(p_actor, case when p_for is null then 'unmute' else 'mute' end, 'cause',
        null, jsonb_strip_nulls(jsonb_build_object('until', v_until)), p_fingerprint);
    delete from jobkit.causes c
    where c.fingerprint = p_fingerprint and c.note is null and c.muted_until is null;
    return v_until;
end
$$;
