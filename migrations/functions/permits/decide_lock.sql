-- decide_lock: until the transaction ends, nothing is paused or resumed and no limit changes,
-- except those of single keys. Refuses any isolation level but READ COMMITTED (JK002).
-- The other locks, and why a key is decided under the lock of its row:
-- docs/decisions/0003-permits.md.
create or replace function jobkit.decide_lock() returns void
language plpgsql as $$
begin
    -- Checked before the call, which costs more: every claim and settle gets here.
    if current_setting('transaction_isolation') <> 'read committed' then
        perform jobkit.require_read_committed();
    end if;
    lock table jobkit.limits in row share mode;
end
$$;
