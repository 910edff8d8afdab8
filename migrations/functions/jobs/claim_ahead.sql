-- claim_ahead: splits the jobs that a claim picked into those that begin at once and those that
-- wait in the worker for a slot. The latter are recorded as claim p_n + 1, with at most 1 MiB of
-- payload.
--   p_ahead  how many of p_slots are not free yet, for each queue
--   p_plain  none of the jobs holds or needs a permit
-- Returns `ids` (they begin at once), `ahead` (they wait), `cut` (some may not wait, see
-- `may_wait`, and went back to ready) and `noted` (`ids` are recorded too, as claim p_n).
-- With one queue, and if all jobs may wait, one query decides and both claims are recorded. Then
-- `replays` of both says whether any of all these jobs is a replay. Otherwise jobs that may not
-- wait come first, as far as there are slots.
create or replace function jobkit.claim_ahead(
    p_worker bigint, p_n bigint, p_ids bigint[], p_plain boolean, p_queues text[],
    p_slots integer[], p_ahead integer[],
    out ids bigint[], out ahead bigint[], out cut boolean, out noted boolean
)
language plpgsql as $$
declare
    v_slots constant integer := p_slots[1] - p_ahead[1];
    v_replays boolean;
    v_beyond bigint[];                           -- jobs without a free slot
    v_returned bigint[];
begin
    if p_plain and cardinality(p_queues) = 1 then
        select array_agg(j.id order by j.priority, j.id), bool_or(j.dead_letter_id is not null)
        into ids, v_replays
        from jobkit.jobs j where j.id = any (p_ids)
        having count(*) = cardinality(p_ids) and bool_and(jobkit.may_wait(j))
            and sum(jobkit.payload_size(j)) <= 1024 * 1024;
        ahead := nullif(ids[v_slots + 1:], '{}');
        ids := ids[:v_slots];
    end if;
    noted := ids is not null;
    if not noted then
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
        into v_beyond, ahead, v_replays, v_returned, cut from fitting f;
        ids := array(select unnest(p_ids) except select unnest(v_beyond) order by 1);
    end if;
    insert into jobkit.claims (worker_id, n, job_ids, replays, ahead)
    select p_worker, c.n, c.jobs, v_replays, c.ahead
    from (values (p_n, ids, false), (p_n + 1, ahead, true)) as c (n, jobs, ahead)
    where c.jobs <> '{}' and (noted or c.ahead);
    if v_returned is not null then
        -- Jobs that hold a permit keep it.
        perform jobkit.make_ready(array_agg(j.id), j.held)
        from (
            select u.id, exists (select from jobkit.permits p where p.job_id = u.id) as held
            from unnest(v_returned) as u (id)
        ) j
        group by j.held;
    end if;
end
$$;
