-- exhausted: the next p_limit jobs after p_after that `recover` may have to bury; but none that is
-- stuck.
create or replace function jobkit.exhausted(p_after bigint, p_limit integer) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select j.id from jobkit.jobs j
    where j.attempt >= j.max_attempts and j.id > p_after and j.cancel_requested_at is null
        and not exists (select from jobkit.claims c where j.id = any (c.job_ids))
        and j.id <> all ((select jobkit.stuck())::bigint[])
    order by j.id limit p_limit
$$;
