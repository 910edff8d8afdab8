-- place_in: the place of a job in a listing, after which the next page begins.
create or replace function jobkit.place_in(
    p_listing text, p_job bigint, p_without_permit boolean, p_since timestamptz
) returns jsonb
language sql stable as $$
    select case p_listing
        when 'ready' then jsonb_build_array(j.queue, j.priority, p_without_permit, j.id)
        when 'scheduled' then jsonb_build_array(j.run_at, j.id)
        when 'retrying' then jsonb_build_array(j.run_at, j.id)
        when 'running' then jsonb_build_array(p_since, j.id)
        when 'blocked' then
            jsonb_build_array(j.concurrency_group, j.concurrency_key, j.priority, j.id)
        else jsonb_build_array(i.id) end
    from (select p_job as id) i
    left join jobkit.jobs j on j.id = i.id
    where i.id is not null
$$;
