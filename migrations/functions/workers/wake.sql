-- wake: notifies sleeping workers that one of these queues has a job.
-- NOTIFY holds a lock of the whole cluster until the commit is flushed, so it is sent only if a
-- worker says that it sleeps. A worker that is just falling asleep looks once more, and the worker
-- that made the job ready (p_by) knows already. It is not sent after
--   set local jobkit.notify = 'off'
-- since a transaction that has notified cannot be prepared (PREPARE TRANSACTION): a poll finds the
-- job.
create or replace function jobkit.wake(p_queues text[], p_by bigint default null) returns void
language plpgsql as $$
begin
    if exists (
        select from jobkit.sleepers s
        where s.until > clock_timestamp() and s.worker_id is distinct from p_by
            and (s.queues && p_queues
                or s.prefixes <> '{}' and jobkit.some_begin(p_queues, s.prefixes))
    ) and current_setting('jobkit.notify', true) is distinct from 'off' then
        perform pg_notify('jobkit', '');
    end if;
end
$$;
