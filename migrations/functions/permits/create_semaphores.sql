-- create_semaphores: makes the semaphores that are missing and locks them all as FOR UPDATE would,
-- in one statement and in order. DO UPDATE … WHERE false locks without writing, and survives a
-- row that is just being forgotten; with DO NOTHING whoever comes second to a fresh key would
-- decide without its lock. Naming a key column makes it the lock of FOR UPDATE, nothing weaker.
create or replace function jobkit.create_semaphores(p_groups text[], p_keys text[]) returns void
language plpgsql as $$
begin
    insert into jobkit.semaphores as s (concurrency_group, concurrency_key)
    select distinct k.grp collate "C", k.key collate "C"
    from unnest(p_groups, p_keys) as k (grp, key)
    order by 2, 1
    on conflict (concurrency_group, concurrency_key)
        do update set concurrency_key = excluded.concurrency_key where false;
end
$$;
