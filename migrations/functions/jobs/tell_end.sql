-- tell_end: notifies sessions that wait for the end of a job, once this transaction commits. Not
-- after `set local jobkit.notify = 'off'` (`wake`): they also poll.
create or replace function jobkit.tell_end() returns void
language plpgsql as $$
begin
    if current_setting('jobkit.notify', true) is distinct from 'off' then
        perform pg_notify('jobkit_end', '');
    end if;
end
$$;
