-- promote: makes up to p_limit due jobs ready. Returns how many, and how long until the next one is
-- due (null if none waits). If a job cannot be promoted, the batch is done row by row, so that only
-- that job is stuck.
create or replace function jobkit.promote(
    p_limit integer, out promoted integer, out next_in interval
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
    -- A constant: with a volatile function, the scan would also read all jobs that are not due.
    v_now constant timestamptz := clock_timestamp();
    v_stuck bigint[] := jobkit.stuck();
    v_due record;
    v_jobs bigint[];
    v_queues text[] := '{}';
    v_keys record;
begin
    begin
        with due as (
            delete from jobkit.scheduled s
            where s.ctid = any (array(
                select d.ctid from jobkit.scheduled d
                where d.run_at <= v_now and d.job_id <> all (v_stuck)
                order by d.run_at, d.job_id limit p_limit for update skip locked
            ))
            returning s.job_id
        )
        select count(*), array_agg(d.job_id) into promoted, v_jobs from due d;
        if promoted > 0 then
            v_queues := array(select distinct r.queue from jobkit.make_ready(v_jobs) r);
        end if;
    exception when others then
        if sqlstate like '40%' then
            raise;
        end if;
        promoted := 0;
        v_queues := '{}';
        for v_due in
            select d.run_at, d.job_id from jobkit.scheduled d
            where d.run_at <= v_now and d.job_id <> all (v_stuck)
            order by d.run_at, d.job_id limit p_limit for update skip locked
        loop
            begin
                perform jobkit.make_ready(array[v_due.job_id]);
                delete from jobkit.scheduled s
                where s.run_at = v_due.run_at and s.job_id = v_due.job_id;
                promoted := promoted + 1;
                v_queues := v_queues
                    || (select j.queue from jobkit.jobs j where j.id = v_due.job_id);
            exception when others then
                perform jobkit.stick('promote', array[v_due.job_id], array[sqlerrm], null);
                v_stuck := v_stuck || v_due.job_id;
            end;
        end loop;
    end;
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues);
    end if;
    -- Subtracting from `infinity` would fail, and the promotion with it.
    select min(s.run_at) - clock_timestamp() into next_in
    from jobkit.scheduled s where s.run_at < 'infinity' and s.job_id <> all (v_stuck);
    -- Also jobs that waited for the rate or the pause of their key.
    select * into v_keys from jobkit.grant_due(500);
    if promoted < p_limit then
        -- Forgets stuck jobs that were not met again: they have ended or work again. Last, and
        -- skipping locked rows: a settle that records such a job may hold keys.
        delete from jobkit.stuck_jobs s where s.job_id = any (array(
            select o.job_id from jobkit.stuck_jobs o
            where o.retry_at <= v_now and o.transition = 'promote'
                or o.retry_at < v_now - interval '5 min'
            for update skip locked
        ));
    end if;
    promoted := promoted + v_keys.granted;
    next_in := least(next_in, v_keys.next_in);
end
$$;
