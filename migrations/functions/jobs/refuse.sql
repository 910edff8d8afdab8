-- refuse: raises an error with this text, before anything is stored; does nothing if it is null.
create or replace function jobkit.refuse(p_wrong text) returns void
language plpgsql strict as $$
begin
    raise exception 'jobkit: %', p_wrong using errcode = 'JK008', hint = 'Nothing was stored.';
end
$$;
