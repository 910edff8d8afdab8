-- Measures: what became of attempts, how long they ran, and how long their jobs had been due when
-- they began, by the minute. Workers count in memory and add what they counted with a heartbeat.

-- Element i of a histogram counts what took no longer than 0.1 ms × 2^((i - 1) / 2), and longer
-- than what element i - 1 counts; element 61 counts all that is longer. Zeros at the end are left
-- out.
create table jobkit.measures (
    span smallint not null,                      -- so many minutes: 1, and 15 for longer views
    minute timestamptz not null,                 -- … from this one on: when it was added
    queue text not null,
    kind text not null,
    outcome text not null check (
        outcome in ('finish', 'retry', 'snooze', 'bury', 'discard', 'cancel')
    ),
    count integer not null,
    run integer[] not null,
    wait integer[] not null,
    primary key (span, minute, queue, kind, outcome)
);
-- The rows of the current minute change with every heartbeat: room to do so in their page.
alter table jobkit.measures set (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1, vacuum_truncate = off);

-- add_histograms: the sum of two of them.
create function jobkit.add_histograms(p_one integer[], p_other integer[]) returns integer[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(coalesce(s.one, 0) + coalesce(s.other, 0) order by s.place), '{}')
    from unnest(p_one, p_other) with ordinality as s (one, other, place)
$$;

-- measure: adds what a worker has counted since it last did. Rows in order, so that two workers do
-- not deadlock; who holds one of them does not hold up the heart for long. The commit waits for no
-- disk, or all workers would wait for each other: after a crash of the host the last may be gone.
create function jobkit.measure(p_measures jsonb) returns void
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

-- prune_measures: removes what was added longer ago than p_keep, single minutes after a day
-- already; p_limit rows of each at most. Returns how many.
create function jobkit.prune_measures(p_keep interval, p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with gone as (
        delete from jobkit.measures m
        where m.ctid = any (array(
            select l.at
            from (values (1, least(p_keep, interval '1 day')), (15, p_keep)) as s (span, keep)
            cross join lateral (
                select e.ctid as at from jobkit.measures e
                where e.span = s.span and e.minute < now() - s.keep
                order by e.minute limit p_limit for update skip locked
            ) l
        ))
        returning m.minute
    )
    select count(*)::integer from gone
$$;
