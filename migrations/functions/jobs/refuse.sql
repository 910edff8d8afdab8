-- refuse: fails with what is wrong, before anything is stored; nothing when it is null.
create or replace function jobkit.refuse(p_wrong text) returns void
language plpgsql strict as $$
begin
    raise exception 'jobkit: %', p_wrong using errcode = 'JK008', hint = 'Nothing was stored.';
end
$$;
