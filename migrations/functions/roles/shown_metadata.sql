-- shown_metadata: what a role that sees no payloads sees of metadata: what jobkit itself keeps
-- there.
create or replace function jobkit.shown_metadata(p_metadata jsonb) returns jsonb
language sql stable as $$
    select case when jobkit.shows_payloads() then p_metadata
        when p_metadata ? 'jobkit' then jsonb_build_object('jobkit', p_metadata -> 'jobkit') end
$$;
