-- ended_in: the same for ended jobs, the newest job first.
create or replace function jobkit.ended_in(
    p_listing text, p_before bigint, p_rows integer, p_id bigint
) returns setof jobkit.finished
language sql stable as $$
    (
        select * from jobkit.finished f
        where p_listing = 'finished' and (p_id is null or f.job_id = p_id)
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    ) union all (
        select * from jobkit.finished f
        where p_listing = 'discarded' and f.outcome = 'discard'
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    ) union all (
        select * from jobkit.finished f
        where p_listing = 'cancelled' and f.outcome = 'cancel'
            and (p_before is null or f.job_id < p_before)
        order by f.job_id desc limit p_rows
    )
$$;
