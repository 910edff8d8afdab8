-- make_ready: a job without a concurrency key that must run again at once; one with a key asks for
-- its permit again (`block`).
create or replace function jobkit.make_ready(p_job jobkit.jobs) returns void
language plpgsql as $$
begin
    if p_job.concurrency_key is not null then
        perform jobkit.block(array[p_job.id]);
    else
        insert into jobkit.ready (queue, priority, job_id, kind)
        values (p_job.queue, p_job.priority, p_job.id, p_job.kind);
    end if;
end
$$;
