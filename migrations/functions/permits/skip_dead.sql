-- skip_dead: moves the start of the search for blocked executions to the first one that exists.
create or replace function jobkit.skip_dead(p_groups text[], p_keys text[]) returns void
language plpgsql as $$
begin
    update jobkit.semaphores s set from_priority = m.priority, from_id = m.job_id
    from unnest(p_groups, p_keys) as k (grp, key)
    cross join lateral (
        select s.ctid as at, h.priority, h.job_id
        from jobkit.semaphores s
        cross join lateral (
            select b.priority, b.job_id from jobkit.blocked_executions b
            where b.concurrency_group = k.grp and b.concurrency_key = k.key
                and (b.priority, b.job_id) >= (s.from_priority, s.from_id)
            order by b.priority, b.job_id limit 1
        ) h
        where s.concurrency_group = k.grp and s.concurrency_key = k.key
            and (s.from_priority, s.from_id) <> (h.priority, h.job_id) offset 0
    ) m
    where s.ctid = m.at;
end
$$;
