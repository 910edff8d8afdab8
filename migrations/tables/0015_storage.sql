-- Queue tables turn over completely: vacuum early, and never truncate, which would lock out claims
-- for the sake of pages that fill again at once.
do $$
declare
    v_table text;
begin
    foreach v_table in array array['jobs', 'ready', 'scheduled', 'claims', 'workers', 'attempts',
                                   'sleepers', 'semaphores', 'permits', 'blocked_executions']
    loop
        execute format('alter table jobkit.%I set (autovacuum_vacuum_scale_factor = 0.02, '
            'autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05, '
            'autovacuum_vacuum_cost_delay = 1, vacuum_truncate = off)', v_table);
    end loop;
end
$$;

-- If the server supports it, history is compressed by lz4, in each partition: pglz takes five times
-- as long.
do $$
declare
    v_table text;
begin
    if exists (
        select from pg_settings s
        where s.name = 'default_toast_compression' and 'lz4' = any (s.enumvals)
    ) then
        foreach v_table in array array['finished', 'dead_letters'] loop
            execute format('alter table jobkit.%I alter column args set compression lz4, '
                'alter column metadata set compression lz4', v_table);
        end loop;
    end if;
end
$$;
