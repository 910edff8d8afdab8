-- regroup_dead_letters: folds the errors of all that are not resolved anew, after `fold` was
-- changed by a migration, and returns how many came to another group. What others have in hand is
-- left out: to be called until it finds none.
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
