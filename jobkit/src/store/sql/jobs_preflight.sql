-- A sample of the stored payloads: of the $1 oldest and the $1 newest live jobs, and of as many
-- open dead letters, the first and the last $2 of each kind and version (`versioned`), 64 MiB in
-- total; and how many of each there are among those.
-- $1 how many to look at from each end, $2 how many to read of each
with live as (
    (select j.id from jobkit.jobs j order by j.id limit $1)
    union (select j.id from jobkit.jobs j order by j.id desc limit $1)
), dead as (
    (select d.id from jobkit.dead_letters d where d.state = 'open'
        order by d.failed_at, d.id limit $1)
    union (select d.id from jobkit.dead_letters d where d.state = 'open'
        order by d.failed_at desc, d.id desc limit $1)
), stored as (
    select false as dead, j.id, jobkit.versioned(j.kind, j.version) as name,
        pg_column_size(j.args) as size
    from live l join jobkit.jobs j on j.id = l.id
    union all
    select true, d.id, jobkit.versioned(d.kind, d.version), pg_column_size(d.args)
    from dead l join jobkit.dead_letters d on d.id = l.id
), numbered as (
    select s.*, count(*) over k as met, least(row_number() over (k order by s.id),
        row_number() over (k order by s.id desc)) as nth
    from stored s window k as (partition by s.dead, s.name)
), sample as (
    select n.*, sum(n.size) over (order by n.nth, n.dead, n.id) as bytes
    from numbered n where n.nth <= $2
)
select s.name, s.dead, s.id, s.met, coalesce(j.args, d.args)::text as args
from sample s
left join jobkit.jobs j on j.id = s.id and not s.dead
left join jobkit.dead_letters d on d.id = s.id and s.dead
where s.bytes <= 64 * 1024 * 1024 order by s.name, s.dead, s.id
