-- Functions that wait for a lock and then read need a new snapshot for each inner statement: under
-- REPEATABLE READ they would decide on the state before the wait.
create or replace function jobkit.require_read_committed() returns void
language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'jobkit: this function needs READ COMMITTED, not %',
            upper(current_setting('transaction_isolation'))
            using errcode = 'JK002',
                hint = 'Call it outside a transaction block, '
                    'or BEGIN ISOLATION LEVEL READ COMMITTED.';
    end if;
end
$$;
