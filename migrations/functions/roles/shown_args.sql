-- shown_args: a payload, or the result of a job, as this role may see it.
create or replace function jobkit.shown_args(p_args json) returns json
language sql stable as $$
    select case when jobkit.shows_payloads() then p_args
        when p_args is not null then '"•••"'::pg_catalog.json end
$$;
