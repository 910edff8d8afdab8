-- set_sequences: moves every sequence that is behind past the ids that are taken. Returns these
-- sequences. For the owner and operators: in a copy before it takes over, or if the doctor asks for
-- it.
create or replace function jobkit.set_sequences() returns setof text
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_behind record;
begin
    for v_behind in select * from jobkit.sequences_behind() loop
        perform setval(format('jobkit.%I', v_behind.name), v_behind.taken);
        return next v_behind.name;
    end loop;
end
$$;
revoke all on function jobkit.set_sequences from public;
