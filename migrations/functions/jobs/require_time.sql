-- require_time: refuses a time to run at that some clients cannot read. Null: at once.
create or replace function jobkit.require_time(p_at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_at not between '0001-01-01 00:00:00 UTC' and '9999-12-31 23:59:59 UTC' then
        perform jobkit.refuse('the time to run at must be in the years 1 to 9999, not ' || p_at);
    end if;
end
$$;
