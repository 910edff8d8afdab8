-- note_cause: replaces an operator's note about a cause of dead letters; null removes it.
create or replace function jobkit.note_cause(
    p_fingerprint text, p_note text, p_actor text default null
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    insert into jobkit.causes as c (fingerprint, note, noted_by, noted_at)
    values (p_fingerprint, p_note, p_actor, clock_timestamp())
    on conflict (fingerprint) do update
        set note = excluded.note, noted_by = excluded.noted_by, noted_at = excluded.noted_at;
    perform jobkit.note(p_actor, 'note', 'cause', null,
        jsonb_strip_nulls(jsonb_build_object('note', p_note)), p_fingerprint);
    delete from jobkit.causes c
    where c.fingerprint = p_fingerprint and c.note is null and c.muted_until is null;
end
$$;
