-- jobs_in_listing: how many jobs a listing has, counting up to 10,001 in its index; 10,001 means
-- more than 10,000.
create or replace function jobkit.jobs_in_listing(p_listing text) returns bigint
language sql stable as $$
    select count(*) from (
        select from jobkit.jobs_in(p_listing, null, 10001, null, null, null, null, null, null)
        union all
        select from jobkit.ended_in(p_listing, null, 10001, null, null)
    ) j
$$;
