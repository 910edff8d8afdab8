-- shown_metadata: what a role that sees no payloads sees of metadata: what jobkit itself keeps
-- there.
create or replace function jobkit.shown_metadata(p_metadata jsonb) returns jsonb
language sql stable as $$
    select case when jobkit.shows_payloads() then p_metadata
        when p_metadata operator(pg_catalog.?) 'jobkit' then pg_catalog.jsonb_build_object(
            'jobkit', p_metadata operator(pg_catalog.->) 'jobkit'::pg_catalog.text) end
$$;
