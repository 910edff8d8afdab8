-- look_at_batches: takes up to p_limit tallies, adds them up, and ends the batches that have become
-- empty. Returns how many tallies it took, how many batches it has to look at again since another
-- session held them, and how many callbacks became ready.
create or replace function jobkit.look_at_batches(
    p_limit integer, out looked integer, out put_off integer, out called integer
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_batches bigint[];
    v_batch bigint;
    v_called integer;
begin
    perform jobkit.require_read_committed();
    with taken as (
        delete from jobkit.batch_tallies t
        where t.ctid = any (array(
            select q.ctid from jobkit.batch_tallies q
            order by q.id limit p_limit for update skip locked
        ))
        returning t.batch_id, t.outcome, t.jobs
    ), counted as (
        insert into jobkit.batch_counts as c (batch_id, outcome, jobs)
        select t.batch_id, t.outcome, sum(t.jobs) from taken t
        where t.outcome <> 'look' group by t.batch_id, t.outcome order by t.batch_id, t.outcome
        on conflict (batch_id, outcome) do update set jobs = c.jobs + excluded.jobs
    )
    select count(*), array_agg(distinct t.batch_id) into looked, v_batches from taken t;
    put_off := 0;
    called := 0;
    -- Those that were empty when they were looked at, or whose first member died.
    for v_batch in
        select b.id from jobkit.batches b
        where b.id = any (v_batches) and b.ended_at is null and (b.closed_at is not null
            and not exists (select from jobkit.jobs j where j.batch_id = b.id) or exists (
                select from jobkit.scheduled s
                where s.run_at = jobkit.parked() and s.job_id = b.else_job
            ) and exists (
                select from jobkit.batch_counts c
                where c.batch_id = b.id and c.outcome in ('bury', 'hold') and c.jobs > 0
            ))
        order by b.id
    loop
        begin
            v_called := jobkit.end_batch(v_batch);
        exception when others then
            if sqlstate like '40%' or sqlstate = '57014' then
                raise;
            end if;
            raise warning 'jobkit: batch % could not be ended: %', v_batch, sqlerrm;
            v_called := null;
        end;
        if v_called is null then
            put_off := put_off + 1;
            insert into jobkit.batch_tallies (batch_id, outcome, jobs) values (v_batch, 'look', 0);
        else
            called := called + v_called;
        end if;
    end loop;
end
$$;
