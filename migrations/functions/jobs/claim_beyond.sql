-- claim_beyond: decides which picked jobs begin at once, which wait for a slot (`claim_ahead`) and
-- which go back. Jobs that may not wait come first, as far as there are slots.
-- Returns also `replays` (a waiting job replays a dead letter) and `cut` (a job went back because
-- it may not wait).
create or replace function jobkit.claim_beyond(
    p_ids bigint[], p_queues text[], p_slots integer[], p_ahead integer[], out ids bigint[],
    out ahead bigint[], out replays boolean, out returned bigint[], out cut boolean
)
language plpgsql as $$
declare
    v_beyond bigint[];                           -- jobs without a free slot
begin
    with placed as (
        select j.id, j.priority, j.dead_letter_id, m.may_wait,
            row_number() over (partition by q.number order by m.may_wait, j.priority, j.id)
                > p_slots[q.number] - p_ahead[q.number] as beyond,
            jobkit.payload_size(j) as size
        from jobkit.jobs j
        cross join lateral (select jobkit.may_wait(j)) m (may_wait)
        cross join lateral (select array_position(p_queues, j.queue) as number) q
        where j.id = any (p_ids)
    ), fitting as (
        select b.id, b.dead_letter_id, b.may_wait,
            b.may_wait and sum(b.size) over w <= 1024 * 1024 as waits
        from placed b where b.beyond
        window w as (order by b.may_wait desc, b.priority, b.id)
    )
    select coalesce(array_agg(f.id), '{}'), array_agg(f.id) filter (where f.waits),
        bool_or(f.dead_letter_id is not null) filter (where f.waits),
        array_agg(f.id) filter (where not f.waits), coalesce(bool_or(not f.may_wait), false)
    into v_beyond, ahead, replays, returned, cut from fitting f;
    ids := array(select unnest(p_ids) except select unnest(v_beyond) order by 1);
end
$$;
