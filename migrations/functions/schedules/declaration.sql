-- declaration: the number of a binary's declaration of schedules, found by its digest. A
-- declaration that was made later for the first time has a higher number, whichever process repeats
-- it.
create or replace function jobkit.declaration(p_digest text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint;
begin
    perform jobkit.require_read_committed();
    insert into jobkit.declarations (digest)
    select p_digest
    where not exists (select from jobkit.declarations d where d.digest = p_digest)
    on conflict do nothing;
    select d.id into v_id from jobkit.declarations d where d.digest = p_digest;
    delete from jobkit.declarations d
    where d.declared_at < clock_timestamp() - interval '1 year' and d.id <> v_id
        and not exists (select from jobkit.workers w where w.declaration = d.id)
        and not exists (select from jobkit.schedules s where s.declaration = d.id);
    return v_id;
end
$$;
