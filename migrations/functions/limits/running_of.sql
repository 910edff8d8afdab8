-- running_of: how many jobs of a queue, of a kind or in total (`all`) are claimed, including those
-- that wait in a worker for a slot. It counts `claims`, so no counter can be wrong.
create or replace function jobkit.running_of(p_scope text, p_name text) returns bigint
language sql stable as $$
    select count(*) from jobkit.claims c
    cross join unnest(c.job_ids) as u (id)
    cross join lateral (
        select j.queue, j.kind from jobkit.jobs j where j.id = u.id offset 0
    ) j
    where case p_scope when 'queue' then j.queue = p_name when 'kind' then j.kind = p_name
        else true end
$$;
