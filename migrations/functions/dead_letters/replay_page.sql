-- Many dead letters at once, page by page: each call is one short transaction, and takes of its
-- page what nobody else holds. And what operators call in psql.

-- replay_page: replays the open ones of a page (see `dead_letters_page`), in the order in which
-- they failed. Skipped: those of the page (ids) that are in other hands, or open no more.
create or replace function jobkit.replay_page(
    p_kind text, p_queue text, p_key text, p_fingerprint text, p_until timestamptz,
    p_after_at timestamptz, p_after_id bigint, p_limit integer, p_actor text,
    p_action text default 'replay',
    out replayed integer, out skipped integer, out last_at timestamptz, out last_id bigint,
    out ids bigint[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_page record;
    v_open bigint[];
begin
    perform jobkit.require_read_committed();
    select * into v_page from jobkit.dead_letters_page('open', p_kind, p_queue, p_key,
        p_fingerprint, p_until, p_after_at, p_after_id, p_limit);
    v_open := array(
        select d.id from jobkit.dead_letters d
        where d.id = any (v_page.ids) and d.state = 'open' and d.failed_at <= p_until
        order by d.failed_at, d.id for update skip locked
    );
    replayed := cardinality(v_open);
    skipped := cardinality(v_page.ids) - replayed;
    last_at := v_page.last_at;
    last_id := v_page.last_id;
    ids := v_page.ids;
    if replayed > 0 then
        perform from jobkit.replay_open(v_open);
        perform jobkit.note(p_actor, p_action, 'dead_letters', null, jsonb_build_object(
            'count', replayed, 'first', v_open[1], 'last', v_open[replayed],
            'filter', jsonb_strip_nulls(jsonb_build_object('kind', p_kind, 'queue', p_queue,
                'key', p_key, 'fingerprint', p_fingerprint, 'until', p_until))));
    end if;
end
$$;
