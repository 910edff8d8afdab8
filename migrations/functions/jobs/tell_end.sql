-- tell_end: has those look who wait for the end of a job, once this transaction has committed. Not
-- where it says `set local jobkit.notify = 'off'` (`wake`): they look again by themselves.
create or replace function jobkit.tell_end() returns void
language plpgsql as $$
begin
    if current_setting('jobkit.notify', true) is distinct from 'off' then
        perform pg_notify('jobkit_end', '');
    end if;
end
$$;
