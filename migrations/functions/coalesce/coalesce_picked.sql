-- coalesce_picked: coalesces the jobs that a claim picked. For each key the newest waiting job
-- begins, and older ones end.
--   p_keyed  true: jobs with a concurrency key and no permit; false: jobs without a concurrency key
-- Returns the jobs that the claim has now, how many ended, and whether some went back to ready:
-- then look again, since no notification tells when the other transaction ends.
-- Waits for nobody. If another session holds a job of the key, it may run that job. Then no job of
-- the key begins here, and the newest goes back; the other session sees the newest, too, and ends
-- its own. Nor does a job begin before all jobs of its key were seen: many jobs end over several
-- claims.
create or replace function jobkit.coalesce_picked(
    p_ids bigint[], p_keyed boolean, p_kinds text[], out ids bigint[], out ended integer,
    out put_back boolean
)
language plpgsql as $$
declare
    v_seen record;
    v_locked bigint[];
    v_taken bigint[];
    v_now record;
    v_back bigint[];
begin
    ids := p_ids;
    ended := 0;
    put_back := false;
    select array_agg(s.id) as ids, array_agg(s.newest) as newest, array_agg(s.instead) as instead,
        array_agg(s.place) as places, array_agg(s.fits) as fits,
        array_agg(s.id) filter (where s.instead is not null) as older,
        bool_and(s.instead is null and s.place = 'picked') as simple
    into v_seen from jobkit.coalesce_seen(p_ids, p_keyed, p_kinds) s;
    if v_seen.simple is not false then
        return;
    end if;
    -- Settles hold the rows of jobs that they put back, and a cancel those that it marks.
    v_locked := array(
        select j.id from jobkit.jobs j where j.id = any (v_seen.older) for update skip locked
    );
    v_taken := jobkit.coalesce_take(array(
        select s.id from unnest(v_seen.ids, v_seen.newest, v_seen.places, v_seen.fits)
            as s (id, newest, place, fits)
        where s.place in ('ready', 'scheduled')
            and (s.id = any (v_locked) or s.id = s.newest and s.fits)
    ));
    with had as (
        select s.*, s.place = 'picked' or s.id = any (v_taken) as here,
            s.instead is not null and s.id = any (v_locked) as locked
        from unnest(v_seen.ids, v_seen.newest, v_seen.instead, v_seen.places, v_seen.fits)
            as s (id, newest, instead, place, fits)
    ), begun as (
        select n.id from had n
        where n.id = n.newest and n.fits and n.here and not exists (
            select from had o where o.newest = n.id and o.instead is not null
                and not (o.locked and (o.here or o.place = 'elsewhere'))
        )
    )
    select array(select b.id from begun b) as begun,
        array_agg(h.id) filter (where h.locked and h.here) as ended,
        array_agg(h.instead) filter (where h.locked and h.here) as instead,
        array_agg(h.id) filter (where h.here) as here,
        array_agg(h.id) filter (where h.place = 'picked') as picked,
        array_agg(h.id) filter (where h.locked and h.place = 'elsewhere'
            and h.instead in (select b.id from begun b)) as told
    into v_now from had h;
    ended := coalesce(cardinality(v_now.ended), 0);
    ids := array(select unnest(p_ids) except select unnest(v_now.picked)) || v_now.begun;
    perform jobkit.coalesce_end(v_now.ended, v_now.instead);
    v_back := array(select unnest(v_now.here) except select unnest(v_now.ended || v_now.begun));
    put_back := v_back <> '{}';
    perform jobkit.make_ready(v_back);
    -- Marks jobs that are running or blocked: if they fail, they do not run again.
    update jobkit.jobs j set coalesced_by = s.instead
    from unnest(v_seen.ids, v_seen.instead) as s (id, instead)
    where j.id = any (v_now.told) and s.id = j.id;
end
$$;
