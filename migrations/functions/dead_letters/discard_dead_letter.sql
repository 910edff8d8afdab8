-- discard_dead_letter: removes it permanently. outcome: `discard`, `replaying` (nothing was done)
-- or `missing`.
create or replace function jobkit.discard_dead_letter(p_id bigint, p_actor text, out outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_entry jobkit.dead_letters;
begin
    perform jobkit.require_read_committed();
    select * into v_entry from jobkit.dead_letters d where d.id = p_id for update;
    if not found then
        outcome := 'missing';
    elsif v_entry.state = 'replaying' then
        outcome := 'replaying';
    else
        outcome := 'discard';
        delete from jobkit.dead_letters d where d.id = p_id;
        perform jobkit.release_held(array[p_id], 'discard');
        perform jobkit.note(p_actor, 'discard', 'dead_letter', p_id, jsonb_build_object(
            'kind', v_entry.kind, 'key', v_entry.key, 'cycles', v_entry.cycles,
            'error', v_entry.error, 'args', v_entry.args));
    end if;
end
$$;
