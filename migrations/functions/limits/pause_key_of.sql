-- pause_key_of: pauses the key of a running job, on its own request. Returns false if it has no
-- key.
create or replace function jobkit.pause_key_of(p_job bigint, p_for interval) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key record;
begin
    select j.concurrency_group as grp, j.concurrency_key as key into v_key
    from jobkit.jobs j where j.id = p_job and j.concurrency_key is not null;
    return found and jobkit.pause_key(v_key.grp, v_key.key, p_for) is not null;
end
$$;
