-- Jobs that coalesce, and what runs again.
alter table jobkit.unique_keys
    add column follower_id bigint;               -- the job that has the key when this one has ended
-- The sweep looks for those whose turn has come unnoticed.
create index unique_keys_followed on jobkit.unique_keys (job_id) where follower_id is not null;

-- Where somebody's long transaction is in the way, nobody has to wait behind us, as in step 31.
do $$
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            -- A newer job of its key has been claimed: it does not run again.
            alter table jobkit.jobs add column coalesced_by bigint;
            -- A claim looks for the other jobs of a key.
            create index jobs_coalescing on jobkit.jobs (unique_scope, unique_key, id)
                where unique_while = 'coalesce';
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
