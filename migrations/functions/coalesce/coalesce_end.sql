-- coalesce_end: ends jobs because a newer job of their key (p_by) runs instead. The caller holds
-- their rows and has removed them from where they waited.
create or replace function jobkit.coalesce_end(p_jobs bigint[], p_by bigint[]) returns void
language plpgsql as $$
begin
    if p_jobs is null then
        return;
    end if;
    perform jobkit.end_jobs(null, p_jobs, jobkit.outcomes(p_n => '{}', p_job => p_jobs,
        p_outcome => '{}',
        p_reason => array(select 'coalesced into job ' || b.by from unnest(p_by) as b (by)),
        p_keep => array(
            select coalesce(k.retention_discarded, k.retention)
            from unnest(p_jobs) with ordinality as i (job, at)
            left join jobkit.jobs j on j.id = i.job
            left join jobkit.kinds k on k.kind = j.kind
            order by i.at
        )), 'coalesce', p_charged => 0);
end
$$;
