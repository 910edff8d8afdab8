-- wake: tells sleeping workers that one of these queues has a job.
-- NOTIFY holds a lock of the whole cluster until the commit is flushed, so it is sent only when
-- somebody says he is asleep; a worker that is just falling asleep looks once more by itself, and
-- one that made the job ready (p_by) knows already. Nor is it sent where the caller says
--   set local jobkit.notify = 'off'
-- since a transaction that has notified cannot be prepared (PREPARE TRANSACTION): a poll finds it.
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
