-- Permits: who may run of the jobs that share a concurrency key.
--
-- Permits and blocked executions of a key change only under the lock of its row in `semaphores`.
-- Whoever needs several locks takes them in the order of (key, group), after the ROW SHARE lock of
-- `queues` and `concurrency_groups`, after claims and before jobs. What is read to decide is read
-- by a later statement than the one that waited for the lock: an older snapshot would not show
-- what was written meanwhile, and a job would stay blocked for ever.
--
-- A planner that expects few rows, or many, may begin a join at the wrong end and read a whole
-- table, or compare each with each. So rows are looked up one by one in LATERAL subqueries that it
-- cannot flatten (a lock, a LIMIT, OFFSET 0), and changed by where they are (ctid).

-- decide_lock: from here to the end of the transaction no queue is paused or resumed, and no limit
-- of a group changes. For functions that need READ COMMITTED.
create or replace function jobkit.decide_lock() returns void
language plpgsql as $$
begin
    -- Asked before the call: each claim and settle comes here, and it costs more than the question.
    if current_setting('transaction_isolation') <> 'read committed' then
        perform jobkit.require_read_committed();
    end if;
    lock table jobkit.queues, jobkit.concurrency_groups in row share mode;
end
$$;
