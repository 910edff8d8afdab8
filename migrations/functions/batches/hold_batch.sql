-- hold_batch: records that a member became a dead letter, which may keep its batch open.
create or replace function jobkit.hold_batch(p_job jobkit.jobs, p_dead_letter bigint) returns void
language plpgsql as $$
begin
    insert into jobkit.batch_holds (batch_id, job_id, dead_letter_id)
    select b.id, p_job.id, p_dead_letter
    from jobkit.batches b where b.id = p_job.batch_id and b.hold_dead;
    perform jobkit.leave_batches(array[p_job.batch_id],
        case when found then 'hold' else 'bury' end);
end
$$;
