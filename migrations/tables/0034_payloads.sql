-- Payloads are kept as the text that was sent, `json`: to take `jsonb` apart and together again was
-- half of what a large one cost. And where the server has lz4, what is kept is compressed by it:
-- pglz takes five times as long.
-- Each table is written anew. Where somebody's long transaction is in the way, nobody has to wait
-- behind us, as in step 31.
do $$
declare
    v_lz4 constant boolean := exists (
        select from pg_settings s
        where s.name = 'default_toast_compression' and 'lz4' = any (s.enumvals)
    );
    v_table regclass;
begin
    for tries in reverse 60..0 loop
        begin
            perform set_config('lock_timeout', '200ms', true);
            lock table jobkit.queues in exclusive mode;
            lock table jobkit.jobs, jobkit.finished, jobkit.dead_letters in access exclusive mode;
            exit;
        exception when lock_not_available then
            if tries = 0 then
                raise;
            end if;
        end;
        perform pg_sleep(1);
    end loop;
    perform set_config('lock_timeout', '60s', true);
    -- Still uncompressed here: a claim asks for the size of what it brings.
    alter table jobkit.jobs alter column args type json using args::json,
        alter column args set storage external;
    alter table jobkit.dead_letters alter column args type json using args::json;
    alter table jobkit.finished alter column args type json using args::json;
    -- Partitions that are made later are like `finished`.
    for v_table in
        select 'jobkit.dead_letters'::regclass
        union all select t.relid from pg_partition_tree('jobkit.finished') t
    loop
        if v_lz4 then
            execute format('alter table %s alter column args set compression lz4, '
                'alter column metadata set compression lz4', v_table);
        end if;
    end loop;
end
$$;
alter type jobkit.claimed alter attribute args type json;
