-- measure: adds what a worker has counted since its last call. Rows are in order, so that two
-- workers do not deadlock, and a locked row does not delay the heartbeat for long. The commit does
-- not wait for the disk, otherwise all workers would wait for each other: a crash of the host may
-- lose the last counts.
create or replace function jobkit.measure(p_measures jsonb) returns void
language sql
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
    select set_config('synchronous_commit', 'off', true);
    insert into jobkit.measures as m (span, minute, queue, kind, outcome, count, run, wait)
    select s.span, date_bin(s.span * interval '1 min', now(), 'epoch'), i.queue, i.kind, i.outcome,
        i.count, i.run, i.wait
    from unnest('{1,15}'::smallint[]) as s (span)
    cross join jsonb_to_recordset(p_measures) as i (
        queue text, kind text, outcome text, count integer, run integer[], wait integer[]
    )
    order by s.span, i.queue, i.kind, i.outcome
    on conflict (span, minute, queue, kind, outcome) do update set count = m.count + excluded.count,
        run = jobkit.add_histograms(m.run, excluded.run),
        wait = jobkit.add_histograms(m.wait, excluded.wait)
$$;
