-- The payloads of schedules, by name, 64 MiB in total.
-- $1 how many at most
select s.kind, s.name, s.args::text as args
from (
    select jobkit.versioned(l.kind, l.version) as kind, l.name, l.args,
        sum(pg_column_size(l.args)) over (order by l.name) as bytes
    from (
        select r.* from jobkit.schedules r where r.removed_at is null order by r.name limit $1
    ) l
) s
where s.bytes <= 64 * 1024 * 1024 order by s.name
