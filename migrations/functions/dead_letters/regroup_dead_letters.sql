-- regroup_dead_letters: folds the errors of all unresolved dead letters again, after a migration
-- changed `fold`, and returns how many moved to another group. Skips locked rows: call it until it
-- returns 0.
create or replace function jobkit.regroup_dead_letters() returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
    with anew as materialized (
        select d.id, jobkit.cause(d.kind, d.reason, d.errors, d.error) as fingerprint
        from jobkit.dead_letters d
        where d.state <> 'resolved'
            and d.fingerprint <> jobkit.cause(d.kind, d.reason, d.errors, d.error)
        for update skip locked
    ), moved as (
        update jobkit.dead_letters d set fingerprint = a.fingerprint
        from anew a where d.id = a.id returning d.id
    )
    select count(*) from moved
$$;
