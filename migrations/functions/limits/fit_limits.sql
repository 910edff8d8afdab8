-- fit_limits: creates the turns and bounds of what is limited, and deletes all others. Workers then
-- look at all bounds again. The caller holds the EXCLUSIVE lock of `limits`.
create or replace function jobkit.fit_limits() returns void
language plpgsql as $$
begin
    delete from jobkit.turns t where not exists (
        select from jobkit.limits l where l.scope = t.scope and l.name = t.name
            and num_nonnulls(l.running, l.every, l.code_running, l.code_every) > 0
    );
    insert into jobkit.turns (scope, name)
    select l.scope, l.name from jobkit.limits l
    where l.holds and num_nonnulls(l.running, l.every, l.code_running, l.code_every) > 0
    on conflict do nothing;
    delete from jobkit.bounds b where not exists (
        select from jobkit.limits l where l.scope = 'queue' and l.name = b.queue
            and coalesce(l.waiting, l.code_waiting) < 2147483647
    );
    insert into jobkit.bounds (queue)
    select l.name from jobkit.limits l
    where l.scope = 'queue' and coalesce(l.waiting, l.code_waiting) < 2147483647
    order by l.name
    on conflict (queue) do update set next_look = 'epoch';
end
$$;
