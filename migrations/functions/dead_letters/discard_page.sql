-- discard_page: removes those of a page that are open, or resolved (p_state); never one that is
-- replaying, nor one that failed again meanwhile.
create or replace function jobkit.discard_page(
    p_state text, p_kind text, p_queue text, p_key text, p_fingerprint text,
    p_until timestamptz, p_after_at timestamptz, p_after_id bigint, p_limit integer,
    p_actor text, p_action text,
    out discarded integer, out skipped integer, out last_at timestamptz, out last_id bigint,
    out ids bigint[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_page record;
    v_gone bigint[];
begin
    perform jobkit.require_read_committed();
    if p_state not in ('open', 'resolved') then
        raise exception 'jobkit: what is % cannot be discarded', p_state using errcode = 'JK007';
    end if;
    select * into v_page from jobkit.dead_letters_page(p_state, p_kind, p_queue, p_key,
        p_fingerprint, p_until, p_after_at, p_after_id, p_limit);
    with gone as (
        delete from jobkit.dead_letters d
        where d.id = any (array(
            select l.id from jobkit.dead_letters l
            where l.id = any (v_page.ids) and l.state = p_state and l.failed_at <= p_until
            order by l.failed_at, l.id for update skip locked
        ))
        returning d.id
    )
    select coalesce(array_agg(g.id order by g.id), '{}') into v_gone from gone g;
    discarded := cardinality(v_gone);
    skipped := cardinality(v_page.ids) - discarded;
    last_at := v_page.last_at;
    last_id := v_page.last_id;
    ids := v_page.ids;
    if discarded > 0 then
        perform jobkit.note(p_actor, p_action, 'dead_letters', null, jsonb_build_object(
            'count', discarded, 'ids', v_gone, 'filter', jsonb_strip_nulls(jsonb_build_object(
                'state', p_state, 'kind', p_kind, 'queue', p_queue, 'key', p_key,
                'fingerprint', p_fingerprint, 'until', p_until))));
    end if;
end
$$;
