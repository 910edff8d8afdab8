-- What has prevented vacuum for more than a second from removing dead rows: transactions of this
-- database, the oldest first, and slots and prepared transactions without a connection. `age` in
-- microseconds, null if unknown; `xids` how many transactions have begun since.
-- No supported server shows the sessions of others to a role without pg_read_all_stats.
select * from (
    select 'session' as what, a.pid::text as name, a.usename::text as role, a.application_name,
        coalesce(a.state, a.backend_type) as state,
        (extract(epoch from now() - a.xact_start) * 1000000)::bigint as age,
        age(a.backend_xmin)::bigint as xids
    from pg_stat_activity a
    where a.datname = current_database() and a.backend_xmin is not null
        and a.backend_type in ('client backend', 'walsender') and a.pid <> pg_backend_pid()
        and a.xact_start < now() - interval '1 s'
    union all
    select 'prepared', p.gid, p.owner::text, null, null,
        (extract(epoch from now() - p.prepared) * 1000000)::bigint, age(p.transaction)::bigint
    from pg_prepared_xacts p
    where p.database = current_database()
    union all
    select 'slot', r.slot_name::text, null, null, case when r.active then 'active' end, null,
        age(r.xmin)::bigint
    from pg_replication_slots r
    where r.xmin is not null
) h
order by h.age desc nulls last, h.name limit 20
