-- claim_within: records a claim of these jobs, cut to p_budget bytes of payload, but with at least
-- one job. Jobs that coalesce are handled first (`coalesce_picked`). Then queues come in their
-- order, and jobs of a queue by priority, permit and age. The rest goes back to ready and keeps its
-- permits: every keyed job has one by now. Ready rows without a job are dropped.
-- Returns the jobs that stay, and notes: how many have no job any more and, if jobs coalesce, the
-- lowest id picked from each lane and when to look again for those that went back.
create or replace function jobkit.claim_within(
    p_worker bigint, p_n bigint, p_keyed boolean, p_ids bigint[], p_queues text[],
    p_kinds text[], p_budget bigint, out ids bigint[], out notes json[]
)
language plpgsql as $$
declare
    v_replays boolean;
    v_returned bigint[];
    v_ids bigint[] := p_ids;
    v_ended integer := 0;
    v_put_back boolean := false;
    v_lane record;
begin
    if exists (
        select from jobkit.jobs j where j.id = any (p_ids) and j.unique_while = 'coalesce'
    ) then
        for v_lane in
            select j.queue, j.priority * 2 + 7 as lane, min(j.id) as id from jobkit.jobs j
            where j.id = any (p_ids) and not p_keyed group by 1, 2
        loop
            notes := notes || json_build_object('lowest',
                json_build_array(v_lane.queue, v_lane.lane, v_lane.id));
        end loop;
        select * into v_ids, v_ended, v_put_back from jobkit.coalesce_picked(p_ids, false, p_kinds);
    end if;
    with picked as materialized (
        select j.id, j.dead_letter_id, row_number() over w = 1
            or sum(jobkit.payload_size(j)) over w <= p_budget as fits
        from jobkit.jobs j where j.id = any (v_ids)
        window w as (order by array_position(p_queues, j.queue), j.priority,
            j.concurrency_key is null, j.id)
    )
    select coalesce(array_agg(p.id) filter (where p.fits), '{}'),
        array_agg(p.id) filter (where not p.fits),
        coalesce(bool_or(p.dead_letter_id is not null) filter (where p.fits), false),
        cardinality(v_ids) - count(*) + v_ended
    into ids, v_returned, v_replays, v_ended from picked p;
    notes := notes || json_build_object('gone', v_ended,
        'again_in', case when v_put_back then 0.05 end);
    perform jobkit.make_ready(v_returned, true);
    insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
    select p_worker, p_n, ids, p_keyed, v_replays where ids <> '{}';
end
$$;
