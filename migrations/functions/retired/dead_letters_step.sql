-- dead_letters_step: for the operators of version 29, who act on many without an operation; replays
-- or removes the next p_limit dead letters of a filter behind a place, in the order in which they
-- failed. Skipped: those that are in other hands, or not any more what they were. The next page
-- begins behind (last_at, last_id), null after the last.
create or replace function jobkit.dead_letters_step(
    p_verb text, p_state text, p_kind text, p_queue text, p_key text, p_fingerprint text,
    p_until timestamptz, p_after_at timestamptz, p_after_id bigint, p_limit integer, p_actor text,
    p_action text,
    out done integer, out skipped integer, out last_at timestamptz, out last_id bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
declare
    v_operation jobkit.operations;
    v_page record;
    v_taken bigint[];
begin
    perform jobkit.require_read_committed();
    v_operation.verb := p_verb;
    v_operation.filter := jsonb_strip_nulls(jsonb_build_object('state', p_state, 'kind', p_kind,
        'queue', p_queue, 'key', p_key, 'fingerprint', p_fingerprint, 'until', p_until));
    v_operation.until := p_until;
    v_operation.after_at := p_after_at;
    v_operation.after_id := p_after_id;
    select * into v_page from jobkit.operation_page(v_operation, p_limit);
    v_taken := jobkit.take_dead_letters(p_verb, v_page.ids, array[p_state], p_until);
    done := cardinality(v_taken);
    skipped := cardinality(v_page.ids) - done;
    last_at := v_page.last_at;
    last_id := v_page.last_id;
    if done > 0 then
        perform jobkit.note(p_actor, p_action, 'dead_letters', null,
            jsonb_build_object('count', done, 'ids', v_taken, 'filter', v_operation.filter));
    end if;
end
$$;
