-- wake: tells sleeping workers that one of these queues has a job.
-- NOTIFY holds a lock of the whole cluster until the commit is flushed, so it is sent only when
-- somebody says he is asleep; a worker that is just falling asleep looks once more by itself, and
-- one that made the job ready (p_by) knows already. Nor is it sent where the caller says
--   set local jobkit.notify = 'off'
-- since a transaction that has notified cannot be prepared (PREPARE TRANSACTION): a poll finds it.
create function jobkit.wake(p_queues text[], p_by bigint default null) returns void
language plpgsql as $$
begin
    if exists (
        select from jobkit.sleepers s
        where s.until > clock_timestamp() and s.queues && p_queues
            and s.worker_id is distinct from p_by
    ) and current_setting('jobkit.notify', true) is distinct from 'off' then
        perform pg_notify('jobkit', '');
    end if;
end
$$;

-- sleep: notes that a worker is about to sleep, so that the next enqueue notifies it.
create function jobkit.sleep(p_worker bigint, p_queues text[], p_for interval) returns void
language sql as $$
    insert into jobkit.sleepers (worker_id, queues, until)
    values (p_worker, p_queues, clock_timestamp() + p_for)
    on conflict (worker_id) do update set queues = excluded.queues, until = excluded.until
$$;

-- Functions that wait for a lock and then read need a fresh snapshot for each inner statement:
-- under REPEATABLE READ they would decide on what was true before the wait.
create function jobkit.require_read_committed() returns void
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
