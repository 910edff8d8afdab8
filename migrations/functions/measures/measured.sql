-- measured: what was measured since p_since, in the newest 50,000 rows of this span (see the
-- table), by kind, or in intervals of equal length; for any queue and kind if none is given.
-- Histograms are returned as places with two numbers each.
create or replace function jobkit.measured(
    p_span smallint, p_since timestamptz, p_stretch interval, p_queue text, p_kind text
) returns table (
    kind text, at timestamptz, outcomes text[], numbers bigint[], places bigint[], run bigint[],
    wait bigint[]
)
language sql stable as $$
    with looked_at as materialized (
        select case when p_stretch is null then m.kind else '' end as kind,
            coalesce(date_bin(p_stretch, m.minute, 'epoch'), 'epoch') as at, m.outcome, m.count,
            m.run, m.wait
        from jobkit.measures m
        where m.span = p_span and m.minute >= p_since
            and (p_queue is null or m.queue = p_queue) and (p_kind is null or m.kind = p_kind)
        order by m.minute desc limit 50000
    ), ended as (
        select e.kind, e.at, array_agg(e.outcome) as outcomes, array_agg(e.number) as numbers
        from (
            select l.kind, l.at, l.outcome, sum(l.count) as number from looked_at l group by 1, 2, 3
        ) e
        group by 1, 2
    ), took as (
        select e.kind, e.at, array_agg(e.place) as places, array_agg(e.run) as run,
            array_agg(e.wait) as wait
        from (
            select p.kind, p.at, p.place, sum(p.run) as run, sum(p.wait) as wait
            from (
                select l.kind, l.at, unnest(l.run) as run, unnest(l.wait) as wait,
                    generate_series(1, greatest(cardinality(l.run), cardinality(l.wait))::bigint)
                        as place
                from looked_at l
            ) p
            where p.run > 0 or p.wait > 0 group by 1, 2, 3
        ) e
        group by 1, 2
    )
    select e.kind, e.at, e.outcomes, e.numbers, t.places, t.run, t.wait
    from ended e left join took t on t.kind = e.kind and t.at = e.at
$$;
