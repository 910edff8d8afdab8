-- create_semaphores: creates missing semaphores and locks all of them FOR UPDATE, in one statement
-- and in order.
-- DO UPDATE … WHERE false locks without writing, and copes with a row that is being deleted. With
-- DO NOTHING, the second session to use a new key would decide without its lock. Naming a key
-- column makes it a FOR UPDATE lock, not a weaker one.
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
