-- sweep_cancelled: takes waiting jobs that were marked a while ago (or later than now, before the
-- clock stepped back) and that the session which marked them did not take.
create or replace function jobkit.sweep_cancelled(p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select count(*)::integer from jobkit.cancel_take(array(
        select j.id from jobkit.jobs j
        where clock_timestamp() not between j.cancel_requested_at
                and j.cancel_requested_at + interval '10 s'
            and not exists (select from jobkit.claims c where j.id = any (c.job_ids))
        order by j.id limit p_limit
    ), 'cancel', 'cancelled')
$$;
