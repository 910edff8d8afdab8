-- run_again: makes a job run again at once. With a concurrency key, it asks for a permit again.
create or replace function jobkit.run_again(p_job jobkit.jobs) returns void
language plpgsql as $$
begin
    if p_job.concurrency_key is not null then
        perform jobkit.block(array[p_job.id]);
    else
        perform jobkit.make_ready(array[p_job.id]);
    end if;
end
$$;
