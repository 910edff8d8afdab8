-- recall: asks workers to give back jobs claimed ahead that have not begun: these jobs, or all if
-- null. Only a hint: no job waits in its worker for longer than a tenth of a second.
create or replace function jobkit.recall(p_jobs bigint[] default null) returns void
language plpgsql as $$
begin
    if exists (
        select from jobkit.claims c where c.ahead and (p_jobs is null or c.job_ids && p_jobs)
    ) and current_setting('jobkit.notify', true) is distinct from 'off' then
        perform pg_notify('jobkit', 'recall');
    end if;
end
$$;
