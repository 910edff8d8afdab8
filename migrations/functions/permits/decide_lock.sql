-- decide_lock: until the transaction ends, no queue is paused or resumed, and no limit of a group
-- changes. Refuses any isolation level but READ COMMITTED (JK002).
-- The other locks, and why a key is decided under the lock of its row:
-- docs/decisions/0003-permits.md.
create or replace function jobkit.decide_lock() returns void
language plpgsql as $$
begin
    -- Checked before the call: each claim and settle comes here, and a call costs more.
    if current_setting('transaction_isolation') <> 'read committed' then
        perform jobkit.require_read_committed();
    end if;
    lock table jobkit.queues, jobkit.concurrency_groups in row share mode;
end
$$;
