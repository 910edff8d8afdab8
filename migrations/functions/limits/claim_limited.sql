-- claim_limited: the scan of a claim when something is paused or limited (see `claim`). It picks
-- nothing that is paused, and no more of a queue or kind than its limit or rate has left.
-- Returns the rows (`at`, locked), when the scan began, how many jobs each queue may have
-- (`p_slots`), kinds of which other jobs may be taken instead (`p_kinds`), and in `held` the note
-- of the claim, with the kinds of `claim_few`.
-- Locks the turns that apply to it until the claim commits, so that concurrent claims count each
-- other. Under a rate nothing is claimed ahead: it would begin later than the rate allowed it.
-- A time further ahead than a burst means that the clock stepped back, and is corrected.
create or replace function jobkit.claim_limited(
    inout p_kinds text[], p_queues text[], inout p_slots integer[], inout p_ahead integer[],
    p_marks bigint[], p_first integer[], p_last integer[], p_pools integer[], p_rooms integer[],
    out at tid[], out started timestamptz, out held json
)
language plpgsql as $$
declare
    v_cut boolean := false;                      -- nothing is claimed ahead
    v_held boolean := false;
    v_names text[];
    v_turn record;
    v_room bigint;
    v_next timestamptz;                          -- the latest plausible `tat`
    v_place integer;
    v_free integer[];                            -- slots that are free now
    v_few text[] := '{}';                        -- kinds with less room than that, …
    v_rooms integer[] := '{}';                   -- … and how much
begin
    started := clock_timestamp();
    select array_agg(l.name) filter (where l.scope = 'kind') into v_names
    from jobkit.limits l where l.holds and l.paused_at is not null
    having bool_or(l.scope = 'all') is not true;
    if not found then
        at := '{}';
        return;
    end if;
    p_kinds := array(select k.kind from unnest(p_kinds) as k (kind)
        where jobkit.unversioned(k.kind) <> all (coalesce(v_names, '{}')));
    v_names := array(select jobkit.unversioned(k.kind) from unnest(p_kinds) as k (kind));
    select array_agg(case when s.name is null then q.slots else 0 end order by q.place),
        array_agg(case when s.name is null then q.slots - coalesce(q.ahead, 0) else 0 end
            order by q.place)
    into p_slots, v_free
    from unnest(p_queues, p_slots, p_ahead) with ordinality as q (name, slots, ahead, place)
    left join jobkit.limits s on s.scope = 'queue' and s.name = q.name and s.paused_at is not null;
    perform from jobkit.turns t
    where t.name = any (case t.scope when 'queue' then p_queues else v_names end)
    order by t.scope, t.name for no key update;
    for v_turn in select * from jobkit.turn_limits t
        where t.name = any (case t.scope when 'queue' then p_queues else v_names end)
        order by t.scope, t.name
    loop
        v_next := clock_timestamp() + v_turn.every * v_turn.burst;
        if v_turn.tat > v_next then
            update jobkit.turns t set tat = v_next
            where t.scope = v_turn.scope and t.name = v_turn.name;
        end if;
        select r.room into v_room from jobkit.turn_room(v_turn.scope,
            v_turn.name, v_turn.running, v_turn.every, v_turn.burst, v_turn.tat) r;
        if v_turn.every is not null and p_ahead <> '{}' then
            p_slots := array(select least(q.slots, q.free) from unnest(p_slots, v_free)
                with ordinality as q (slots, free, place) order by q.place);
            p_ahead := '{}';
            v_cut := true;
        end if;
        v_place := array_position(p_queues, v_turn.name);
        if v_turn.scope = 'queue' and v_room < p_slots[v_place] then
            v_held := true;
            p_slots[v_place] := v_room;
        elsif v_turn.scope = 'kind' and v_room < (select sum(s) from unnest(p_slots) as s) then
            v_held := true;
            v_few := v_few || v_turn.name;
            v_rooms := v_rooms || v_room::integer;
        end if;
    end loop;
    if p_ahead <> '{}' then
        p_ahead := array(select greatest(q.slots - q.free, 0) from unnest(p_slots, v_free)
            with ordinality as q (slots, free, place) order by q.place);
    end if;
    started := clock_timestamp();
    v_names := v_few;
    select * into at, v_few from jobkit.claim_few(p_kinds, p_queues, p_slots, p_marks,
        p_first, p_last, v_few, v_rooms, p_pools, p_rooms);
    p_kinds := array(select k.kind from unnest(p_kinds) as k (kind)
        where jobkit.unversioned(k.kind) = any (v_names) is not true);
    if v_held or v_cut then
        held := json_build_object('few', v_few, 'cut', v_cut);
    end if;
end
$$;
