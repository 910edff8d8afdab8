-- wake_due: tells promoters of a job that is due before they may look next: within a poll, of the
-- length that sleeping workers use, or within a second. If another job is due earlier, they wake
-- for that and learn of this one. Like `wake`, a hint that is sent only if needed.
-- Serializable transactions do not look for other due jobs: two that enqueue at the same time would
-- each have read what the other writes, and one would fail.
create or replace function jobkit.wake_due(p_due timestamptz) returns void
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
begin
    if p_due > v_now + interval '1 s'
        and not exists (select from jobkit.sleepers s where s.until > p_due)
        or current_setting('jobkit.notify', true) is not distinct from 'off'
    then
        return;
    end if;
    if current_setting('transaction_isolation') <> 'serializable' and exists (
        select from jobkit.scheduled s where s.run_at > v_now and s.run_at < p_due
    ) then
        return;
    end if;
    perform pg_notify('jobkit', 'due');
end
$$;
