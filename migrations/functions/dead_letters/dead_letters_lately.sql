-- dead_letters_lately: how many open dead letters of a fingerprint failed in each of the last 24
-- hours, the oldest hour first. Reads the newest 1,000 at most, by their index.
create or replace function jobkit.dead_letters_lately(p_fingerprint text) returns integer[]
language sql stable as $$
    with counted as materialized (
        select e.hour, count(*) as number
        from (
            select floor(extract(epoch from now() - d.failed_at) / 3600) as hour
            from jobkit.dead_letters d
            where d.state = 'open' and d.fingerprint = p_fingerprint
                and d.failed_at > now() - interval '24 h'
            order by d.failed_at desc, d.id desc limit 1000
        ) e
        group by e.hour
    )
    select array(
        select coalesce((select sum(c.number) from counted c where greatest(c.hour, 0) = h.ago), 0)
        from generate_series(23, 0, -1) as h (ago)
    )::integer[]
$$;
