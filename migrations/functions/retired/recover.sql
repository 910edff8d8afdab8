-- recover: for the workers of version 29, which bury jobs without attempts left by it. Now those
-- end when they are claimed: there is nothing to do.
create or replace function jobkit.recover(p_jobs bigint[]) returns integer
language sql as $$
    select 0
$$;
