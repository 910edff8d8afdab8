-- shown_metadata: metadata, for roles that may see payloads.
create or replace function jobkit.shown_metadata(p_metadata jsonb) returns jsonb
language sql stable as $$
    select case when jobkit.shows_payloads() then p_metadata end
$$;
