-- batch_violations: what is wrong with batches.
create or replace view jobkit.batch_violations as
    select b.id as batch_id, 'ended batch with a live member' as what
    from jobkit.batches b where b.ended_at is not null
        and exists (select from jobkit.jobs j where j.batch_id = b.id)
    union all
    select b.id, 'ended batch with a dead letter that keeps it open'
    from jobkit.batches b where b.ended_at is not null
        and exists (select from jobkit.batch_holds h where h.batch_id = b.id)
    union all
    select j.batch_id, 'member of a batch that does not exist'
    from jobkit.jobs j where j.batch_id is not null
        and not exists (select from jobkit.batches b where b.id = j.batch_id)
    union all
    select b.id, 'empty batch that nobody will look at'
    from jobkit.batches b where b.ended_at is null and b.closed_at is not null
        and not exists (select from jobkit.jobs j where j.batch_id = b.id)
        and not exists (select from jobkit.batch_holds h where h.batch_id = b.id)
        and not exists (select from jobkit.batch_tallies t where t.batch_id = b.id)
    union all
    select b.id, 'callback of an ended batch still waits for it'
    from jobkit.batches b join jobkit.jobs j on j.callback_of = b.id
    where b.ended_at is not null and j.id in (b.then_job, b.if_all_job, b.else_job)
        and j.run_at = jobkit.parked()
        and exists (select from jobkit.scheduled s where s.run_at = j.run_at and s.job_id = j.id)
    union all
    select h.batch_id, 'kept open by a dead letter that is resolved or gone'
    from jobkit.batch_holds h where not exists (
        select from jobkit.dead_letters d where d.id = h.dead_letter_id and d.state <> 'resolved')
    union all
    select b.id, 'counts of a batch do not add up'
    from jobkit.batches b
    where (select coalesce(sum(case c.outcome when 'add' then c.jobs else -c.jobs end), 0)
            from jobkit.count_batch(b.id) c)
        <> (select count(*) from jobkit.jobs j where j.batch_id = b.id);
