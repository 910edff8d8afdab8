-- Unique jobs: who holds a key. A row alone holds nothing: whether it does is decided by where its
-- job is (`key_holder`), so that one which was left behind is in nobody's way.
create table jobkit.unique_keys (
    scope text collate "C" not null,             -- the kind, or the group it names
    key text collate "C" not null,
    job_id bigint not null,
    held_until timestamptz,                      -- so long it is held although its job has ended
    primary key (scope, key)
);
create index unique_keys_job on jobkit.unique_keys (job_id);

-- The key of a job, which it may hold again: after a retry, after a replay.
-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            alter table jobkit.jobs add column unique_scope text collate "C",
                add column unique_key text collate "C",
                add column unique_while text;    -- queued, running or unfinished
            alter table jobkit.dead_letters add column unique_scope text collate "C",
                add column unique_key text collate "C", add column unique_while text;
            exit;
        exception when lock_not_available then
            if tries = 0 then
                raise;
            end if;
        end;
        perform pg_sleep(1);
    end loop;
    perform set_config('lock_timeout', '60s', true);
end
$$;
